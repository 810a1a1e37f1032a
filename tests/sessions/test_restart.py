"""After a crash, the watcher reads the current state of all sessions and continues."""

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
    before = comparable_sessions(sessions)
    platform.kill()
    sessions.finish("first")
    eventually(
        lambda: ((sessions.job("first") or {}).get("status") or {}).get("succeeded"), "its Job has finished"
    )
    assert sessions.status("first")["phase"] == "Running"
    sessions.create("meanwhile")
    half_started = create_job(sessions, sessions.create("half"))
    start_watcher(platform, plans_file)
    assert sessions.await_phase("first", "Completed")["completionTime"]
    for name in ("second", "meanwhile", "half"):
        sessions.await_phase(name, "Completed")
        assert len(sessions.pods(name)) == 1
    assert (sessions.job("half") or {})["metadata"]["uid"] == half_started
    # The watcher has not written to sessions that did not change.
    now = comparable_sessions(sessions)
    for name in ("done", "running"):
        assert now[name] == before[name]


def create_job(sessions: Sessions, session: Manifest) -> str:
    """Create the Job of a session, but do not write the session's status. Returns the Job's UID.

    A watcher that crashes before it writes the status leaves the same objects.
    """
    config = SessionsConfig.model_validate(PLANS["sessions"])
    spec = AISessionSpec.model_validate(session["spec"])
    job = session_job(session, spec, config, TenantSettings())
    uid: str = sessions.platform.admin.create(JOB, job)["metadata"]["uid"]
    return uid


def comparable_sessions(sessions: Sessions) -> dict[str, Manifest]:
    """The sessions, keyed by name, without the metadata that every write changes."""
    return {
        name: {
            **session,
            "metadata": {
                field: value
                for field, value in session["metadata"].items()
                if field not in ("managedFields", "resourceVersion")
            },
        }
        for name, session in sessions.all().items()
    }
