"""A watcher that dies in between takes its sessions up where they are."""

from pathlib import Path

from tenancy.base.kinds import JOB
from tenancy.base.manifest import Manifest
from tenancy.sessions.job import session_job
from tenancy.spec.aisession import AISessionSpec
from tenancy.spec.session_config import SessionsConfig
from tenancy.spec.settings import TenantSettings
from tests.platform import Platform
from tests.sessions.sessions import PLANS, Sessions, start_watcher
from tests.waiting import eventually


def test_sessions_go_on_after_a_crash_as_if_there_was_none(
    platform: Platform, sessions: Sessions, plans_file: Path
) -> None:
    sessions.set_limit(2)
    sessions.create("done")
    sessions.await_phase("done", "Completed")
    sessions.create("running", "endless")
    sessions.create("first", "endless")
    sessions.await_phase("first", "Running")
    sessions.await_phase("running", "Running")
    sessions.create("second")
    sessions.await_phase("second", "Pending", "Queued")
    before = contents(sessions)
    platform.kill()
    sessions.finish("first")
    eventually(
        lambda: ((sessions.job("first") or {}).get("status") or {}).get("succeeded"), "its Job is through"
    )
    assert sessions.status("first")["phase"] == "Running"
    sessions.create("meanwhile")
    half_started = make_job(sessions, sessions.create("half"))
    start_watcher(platform, plans_file)
    assert sessions.await_phase("first", "Completed")["completionTime"]
    for name in ("second", "meanwhile", "half"):
        sessions.await_phase(name, "Completed")
        assert len(sessions.pods(name)) == 1
    assert (sessions.job("half") or {})["metadata"]["uid"] == half_started
    # Nothing is written where nothing changed.
    now = contents(sessions)
    for name in ("done", "running"):
        assert now[name] == before[name]


def make_job(sessions: Sessions, session: Manifest) -> str:
    """The Job's uid. As a watcher makes it that dies before it has noted so."""
    config = SessionsConfig.model_validate(PLANS["sessions"])
    spec = AISessionSpec.model_validate(session["spec"])
    job = session_job(session, spec, config, TenantSettings())
    uid: str = sessions.platform.admin.create(JOB, job)["metadata"]["uid"]
    return uid


def contents(sessions: Sessions) -> dict[str, Manifest]:
    """All that a session says. A write that changes nothing of it is none to the API server."""
    return {
        name: {
            **found,
            "metadata": {
                field: value
                for field, value in found["metadata"].items()
                if field not in ("managedFields", "resourceVersion")
            },
        }
        for name, found in sessions.all().items()
    }
