"""`tenancy sessions`, and the sessions in `tenancy show` and `tenancy doctor`."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cli.sessions.text import SESSION_COLUMNS
from embedded.controlplane.kubeconfig import write_kubeconfig
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import AISESSION, CRD, MANAGED_KINDS, OPTIONAL_KINDS, TENANTS, Kind
from tenancy.base.manifest import Manifest
from tenancy.objects.roles import API_GROUP, API_VERSION
from tests.cli.conftest import Completed, Run, tenancy
from tests.platform import ROOT, Platform, tenant_manifest
from tests.sessions.kubelet import bind_pod, kubelet_of
from tests.sessions.sessions import Sessions, sessions_of
from tests.waiting import eventually

__all__ = ["tenancy"]

ACCOUNTS = {"seer": "viewer", "doer": "operator"}
ACCESS = [
    {"kind": "ServiceAccount", "name": name, "namespace": "default", "role": role}
    for name, role in ACCOUNTS.items()
]
# No node has this label, so pods of the tenant are not scheduled.
VISIBLE = tenant_manifest("visible", access=ACCESS, nodeSelector={"pool": "none"})


@pytest.fixture(scope="module")
def visible(running_platform: Platform) -> Iterator[Sessions]:
    """The sessions of a tenant whose pods wait for a node."""
    running_platform.apply(VISIBLE)
    running_platform.await_active(VISIBLE)
    yield sessions_of(running_platform, "visible")
    running_platform.delete(VISIBLE)


@pytest.fixture
def waiting(platform: Platform, visible: Sessions) -> Iterator[Sessions]:  # noqa: ARG001 - the watcher runs
    yield visible
    visible.clear()


def kubeconfig_of(platform: Platform, account: str, folder: Path) -> str:
    """The path of a kubeconfig of a ServiceAccount in the namespace `default`."""
    metadata = {"name": account, "namespace": "default"}
    platform.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    tokens = Kind("v1", "TokenRequest", f"serviceaccounts/{account}/token")
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": "default"},
        "spec": {},
    }
    token = platform.admin.create(tokens, request)["status"]["token"]
    document = yaml.safe_load(platform.admin_kubeconfig.read_text())
    document["users"] = [{"name": user["name"], "user": {"token": token}} for user in document["users"]]
    path = folder / f"{account}.kubeconfig"
    write_kubeconfig(path, document)
    return str(path)


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
    assert tuple(result.stdout.split()[:8]) == SESSION_COLUMNS
    assert [line[:7] for line in listed(result)] == [
        [sessions.namespace, "queued", "home", "research", "-", "Pending", "Queued"],
        [sessions.namespace, "runs", "home", "analysis", "endless", "Running", "-"],
    ]
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
    assert result.stderr == "error: nothing was changed: there is no terminal to confirm on; pass --yes\n"
    assert run_on_terminal(sessions.platform, "n\n", *cancel).returncode == 1
    assert sessions.status("doomed")["phase"] == "Running"
    result = run_on_terminal(sessions.platform, "y\n", *cancel)
    assert result.returncode == 0, result.stderr
    assert f"Cancel session {sessions.namespace}/doomed (tenant home, Running, age " in result.stdout
    eventually(lambda: not sessions.pods("doomed"), "its pod is gone")
    assert "doomed" not in sessions.all()


def run_on_terminal(platform: Platform, answer: str, *arguments: str) -> Completed:
    """Run the command on a terminal, and answer its question."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer.encode())
        return subprocess.run(
            [sys.executable, "-m", "cli.main", *arguments],
            cwd=ROOT,
            env={**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)},
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)


def test_ended_session_keeps_its_result_when_it_is_canceled(sessions: Sessions, tenancy: Run) -> None:
    sessions.create("done")
    sessions.await_phase("done", "Completed")
    result = tenancy("sessions", "cancel", "done", "-n", sessions.namespace, "--yes")
    assert result.returncode == 1
    assert "session done has ended already (Completed)" in result.stderr
    assert sessions.status("done")["results"]


def test_logs_are_printed_and_followed_until_the_end(
    waiting: Sessions, control_plane: ControlPlane, tenancy: Run
) -> None:
    logs = ("sessions", "logs", "chatty", "-n", waiting.namespace)
    waiting.create("chatty")
    waiting.await_phase("chatty", "Pending", "Unschedulable")
    with kubelet_of(waiting, control_plane.kubeconfig.parent / "certs") as kubelet:
        bind_pod(waiting, "chatty")
        kubelet.write(b"one\n", b"\x1b[2Jtwo\n")
        eventually(lambda: tenancy(*logs).returncode == 0, lambda: str(tenancy(*logs)))
        assert kubelet.paths[-1].endswith("/session")
        # A terminal gets no control characters.
        assert tenancy(*logs, FORCE_COLOR="1", TERM="xterm").stdout == "one\n\\u001b[2Jtwo\n"
        environment = {**waiting.platform.environment, "KUBECONFIG": str(waiting.platform.admin_kubeconfig)}
        with subprocess.Popen(
            [sys.executable, "-m", "cli.main", *logs, "-f"], cwd=ROOT, env=environment, stdout=subprocess.PIPE
        ) as followed:
            assert followed.stdout is not None
            assert followed.stdout.readline() == b"one\n"
            # In a pipe, the log is unchanged.
            assert followed.stdout.readline() == b"\x1b[2Jtwo\n"
            kubelet.write(b"three \xff\n", is_end=True)
            assert followed.stdout.read() == b"three \xff\n"
        assert followed.returncode == 0


def test_session_without_a_pod_has_no_log(sessions: Sessions, tenancy: Run) -> None:
    sessions.set_limit(0)
    sessions.create("early")
    sessions.await_phase("early", "Pending", "Queued")
    result = tenancy("sessions", "logs", "early", "-n", sessions.namespace)
    assert (result.returncode, result.stdout) == (1, "")
    assert "session early has no log yet, because it has no pod: Queued: " in result.stderr


def test_roles_of_tenants_allow_the_commands(
    waiting: Sessions, platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    seer, doer = (kubeconfig_of(platform, account, tmp_path) for account in ACCOUNTS)
    waiting.create("seen")
    waiting.await_phase("seen", "Pending", "Unschedulable")
    name = ("seen", "-n", waiting.namespace)
    eventually(
        lambda: tenancy("sessions", "show", *name, KUBECONFIG=seer).returncode == 0, "the rights apply"
    )
    assert listed(tenancy("sessions", "-n", waiting.namespace, KUBECONFIG=seer))[0][1] == "seen"
    assert "Unschedulable" in tenancy("sessions", "show", *name, KUBECONFIG=seer).stdout
    # A viewer cannot list the sessions of other namespaces, and cannot cancel.
    result = tenancy("sessions", KUBECONFIG=seer)
    assert result.returncode == 1
    assert (
        "you need the right to list aisessions.platform.ai in all namespaces; to read only" in result.stderr
    )
    result = tenancy("sessions", "cancel", *name, "--yes", KUBECONFIG=seer)
    assert result.returncode == 1
    needed = f"you need the right to delete aisessions.platform.ai in namespace {waiting.namespace}\n"
    assert result.stderr.endswith(needed)
    assert tenancy("sessions", "cancel", *name, "--yes", KUBECONFIG=doer).returncode == 0
    assert "seen" not in waiting.all()


def test_missing_rights_are_named(
    waiting: Sessions, platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    outsider = kubeconfig_of(platform, "outsider", tmp_path)
    name = ("guarded", "-n", waiting.namespace)
    waiting.create("guarded")
    waiting.await_phase("guarded", "Pending", "Unschedulable")
    missing = f"you need the right to {{}} in namespace {waiting.namespace}\n"

    def refusal(command: str) -> str:
        result = tenancy("sessions", command, *name, KUBECONFIG=outsider)
        return result.stderr

    assert refusal("show").endswith(missing.format("get aisessions.platform.ai"))
    rules: list[Manifest] = [
        {"apiGroups": [AISESSION.group], "resources": [AISESSION.plural], "verbs": ["get"]},
    ]
    grant(platform, waiting.namespace, rules)
    eventually(lambda: refusal("logs").endswith(missing.format("list pods")), lambda: refusal("logs"))
    assert "unknown: events is forbidden" in tenancy("sessions", "show", *name, KUBECONFIG=outsider).stdout
    grant(
        platform, waiting.namespace, [*rules, {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    )
    eventually(lambda: refusal("logs").endswith(missing.format("get pods/log")), lambda: refusal("logs"))


def test_show_of_a_tenant_says_which_right_on_sessions_is_missing(
    waiting: Sessions, platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    reader = kubeconfig_of(platform, "reader", tmp_path)
    kinds = (*TENANTS, *MANAGED_KINDS, *OPTIONAL_KINDS, CRD)
    rules = [
        {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["get", "list"]} for kind in kinds
    ]
    metadata = {"name": "reader"}
    platform.apply({"apiVersion": API_VERSION, "kind": "ClusterRole", "metadata": metadata, "rules": rules})
    platform.apply(
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": API_GROUP, "kind": "ClusterRole", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
        }
    )
    show = ("show", "visible")
    result = eventually(
        lambda: shown if (shown := tenancy(*show, KUBECONFIG=reader)).returncode == 0 else None,
        "the rights apply",
    )
    sessions_text = result.stdout.split("\nSessions\nunknown: ")[1].split("\n\n")[0]
    needed = f"you need the right to list aisessions.platform.ai in namespace {waiting.namespace}"
    assert sessions_text.endswith(needed)


def grant(platform: Platform, namespace: str, rules: list[Manifest]) -> None:
    """Give the account `outsider` these rights in the namespace."""
    metadata = {"name": "outsider", "namespace": namespace}
    role = {"apiGroup": API_GROUP, "kind": "Role", "name": "outsider"}
    subjects = [{"kind": "ServiceAccount", "name": "outsider", "namespace": "default"}]
    platform.apply({"apiVersion": API_VERSION, "kind": "Role", "metadata": metadata, "rules": rules})
    platform.apply(
        {
            "apiVersion": API_VERSION,
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": role,
            "subjects": subjects,
        }
    )


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
    assert [line.split()[1:7] for line in lines] == [
        ["queued", "home", "analysis", "good", "Pending", "Queued"],
        ["runs", "home", "analysis", "endless", "Running", "-"],
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
