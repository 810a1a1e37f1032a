"""`tenancy sessions`, and the sessions in `tenancy show` and `tenancy doctor`."""

import json

from cli.sessions.text import SESSION_COLUMNS, WIDE_SESSION_COLUMNS
from tenancy.base.kinds import JOB
from tests.cli.conftest import Completed, Run, tenancy
from tests.sessions.sessions import Sessions
from tests.terminal import run_on_terminal
from tests.waiting import eventually

__all__ = ["tenancy"]


def listed(result: Completed) -> list[list[str]]:
    """The words of each line of a table, without the header line."""
    assert result.returncode == 0, result.stderr
    return [line.split() for line in result.stdout.splitlines()[1:]]


def test_list_shows_each_session_with_model_phase_and_reason(sessions: Sessions, tenancy: Run) -> None:
    sessions.set_limit(1)
    sessions.create("runs", "endless")
    sessions.await_phase("runs", "Running")
    sessions.create("queued", model=None, kind="research")
    sessions.await_phase("queued", "Pending", "Queued")
    result = tenancy("sessions", "-n", sessions.namespace)
    assert tuple(result.stdout.split()[:6]) == SESSION_COLUMNS
    expected = [
        [sessions.namespace, "queued", "-", "Pending", "Queued"],
        [sessions.namespace, "runs", "endless", "Running", "-"],
    ]
    assert [line[:5] for line in listed(result)] == expected
    wide = tenancy("sessions", "-n", sessions.namespace, "-o", "wide")
    assert tuple(wide.stdout.split()[:9]) == WIDE_SESSION_COLUMNS
    rows = listed(wide)
    assert [line[:5] for line in rows] == expected
    assert [line[7:9] for line in rows] == [["home", "research"], ["home", "analysis"]]
    assert "maxSessions" in " ".join(rows[0])
    by_phase = tenancy("sessions", "list", "--tenant", "home", "--phase", "running")
    assert [line[1] for line in listed(by_phase)] == ["runs"]
    assert tenancy("sessions", "list", "--tenant", "nobody").stdout == "No sessions match.\n"
    assert tenancy("sessions", "-n", "default").stdout == "There are no sessions.\n"
    rows = json.loads(tenancy("sessions", "--tenant", "home", "-o", "json").stdout)
    assert {row["name"]: (row["phase"], row["aiModel"], row["message"] != "") for row in rows} == {
        "queued": ("Pending", "", True),
        "runs": ("Running", "endless", False),
    }


def test_show_says_why_a_session_waits_and_what_to_do(sessions: Sessions, tenancy: Run) -> None:
    sessions.set_limit(0)
    sessions.create("stuck", "plain")
    sessions.await_phase("stuck", "Pending", "Queued")
    eventually(
        lambda: "Waiting" in tenancy("sessions", "show", "stuck", "-n", sessions.namespace).stdout,
        "the Event is shown",
    )
    text = tenancy("sessions", "show", "stuck", "-n", sessions.namespace).stdout
    assert text.startswith(f"stuck\nNamespace  {sessions.namespace}\nTenant     home\nPhase      Pending\n")
    assert "\nReason     Queued: the tenant may run no sessions: maxSessions is 0\n" in text
    assert "\nTo do      wait, cancel another session" in text
    assert "\nResources  500m CPU, 1Gi memory\nTimeout    30m\n" in text
    sessions.set_limit(1)
    sessions.await_phase("stuck", "Completed")
    text = tenancy("sessions", "show", "stuck", "-n", sessions.namespace).stdout
    assert "\nModel      plain\n" in text
    assert "\nJob        aisession-stuck\n" in text
    assert "\nResult\nall went well\n" in text
    data = json.loads(tenancy("sessions", "show", "stuck", "-n", sessions.namespace, "-o", "json").stdout)
    assert data["status"]["results"]["outputData"] == "all went well"
    assert data["events"][0]["reason"] == "Waiting"


def test_unknown_session_is_an_error(sessions: Sessions, tenancy: Run) -> None:
    for command in ("show", "logs", "cancel"):
        result = tenancy("sessions", command, "none", "-n", sessions.namespace)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.startswith(
            f"error: there is no session 'none' in namespace {sessions.namespace}"
        )
        result = tenancy("sessions", command, "none")
        assert result.returncode == 1
        assert "--namespace" in result.stderr


def test_cancel_asks_first_and_ends_the_session(sessions: Sessions, tenancy: Run) -> None:
    sessions.create("doomed", "endless")
    sessions.await_phase("doomed", "Running")
    cancel = ("sessions", "cancel", "doomed", "-n", sessions.namespace)
    # Without a terminal, the command cannot ask for confirmation.
    result = tenancy(*cancel, input="y\n")
    assert result.returncode == 1
    assert result.stderr == "error: nothing was changed: without a terminal, the command needs --yes\n"
    assert run_on_terminal(sessions.platform, "n\n", *cancel).returncode == 1
    assert sessions.status("doomed")["phase"] == "Running"
    result = run_on_terminal(sessions.platform, "y\n", *cancel)
    assert result.returncode == 0, result.stderr
    assert f"Cancel session {sessions.namespace}/doomed (tenant home, Running, age " in result.stdout
    eventually(lambda: not sessions.pods("doomed"), "its pod is gone")
    assert "doomed" not in sessions.all()


def test_ended_session_keeps_its_result_when_it_is_canceled(sessions: Sessions, tenancy: Run) -> None:
    sessions.create("done")
    sessions.await_phase("done", "Completed")
    result = tenancy("sessions", "cancel", "done", "-n", sessions.namespace, "--yes")
    assert result.returncode == 1
    assert "session done has ended already (Completed)" in result.stderr
    assert sessions.status("done")["results"]


def test_session_without_a_pod_has_no_log(sessions: Sessions, tenancy: Run) -> None:
    sessions.set_limit(0)
    sessions.create("early")
    sessions.await_phase("early", "Pending", "Queued")
    result = tenancy("sessions", "logs", "early", "-n", sessions.namespace)
    assert (result.returncode, result.stdout) == (1, "")
    assert "session early has no log yet, because its pod does not run: Queued: " in result.stderr
    sessions.set_limit(1)
    sessions.await_phase("early", "Completed")
    # KWOK serves no logs.
    result = tenancy("sessions", "logs", "early", "-n", sessions.namespace)
    assert result.stderr.startswith("error: cannot read the log of session early: ")
    sessions.platform.admin.delete(JOB, "aisession-early", sessions.namespace)
    eventually(lambda: not sessions.pods("early"), "its pod is gone")
    result = tenancy("sessions", "logs", "early", "-n", sessions.namespace)
    assert result.returncode == 1
    assert "the log of session early no longer exists: Kubernetes deletes it 1h after" in result.stderr


def test_show_of_a_tenant_lists_sessions_that_wait_or_run(sessions: Sessions, tenancy: Run) -> None:
    sessions.create("over")
    sessions.await_phase("over", "Completed")
    sessions.set_limit(1)
    sessions.create("runs", "endless")
    sessions.await_phase("runs", "Running")
    sessions.create("queued")
    sessions.await_phase("queued", "Pending", "Queued")
    text = tenancy("show", "home").stdout
    lines = text.split("\nSessions\n")[1].split("\n\n")[0].splitlines()[1:]
    assert [line.split()[1:5] for line in lines] == [
        ["queued", "good", "Pending", "Queued"],
        ["runs", "endless", "Running", "-"],
    ]
    data = json.loads(tenancy("show", "home", "-o", "json").stdout)
    assert [session["name"] for session in data["sessions"]] == ["queued", "runs"]


def test_doctor_counts_the_sessions(sessions: Sessions, tenancy: Run) -> None:
    sessions.set_limit(0)
    sessions.create("waits")
    sessions.await_phase("waits", "Pending", "Queued")
    findings = json.loads(tenancy("doctor", "-o", "json").stdout)
    (finding,) = [finding for finding in findings if finding["subject"] == "sessions"]
    assert finding["level"] == "ok"
    assert " pending" in finding["message"]
