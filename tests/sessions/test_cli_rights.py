"""The rights that `tenancy sessions` needs, and the log of a session."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import AISESSION, CRD, MANAGED_KINDS, OPTIONAL_KINDS, TENANTS
from tenancy.base.manifest import Manifest
from tenancy.objects.roles import API_GROUP, API_VERSION
from tests.cli.conftest import Run, tenancy
from tests.kubeconfigs import service_account_kubeconfig
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
# No node has this label. So the scheduler assigns no pod of this tenant to a node.
VISIBLE = tenant_manifest("visible", access=ACCESS, nodeSelector={"pool": "none"})


@pytest.fixture(scope="module")
def visible(running_platform: Platform) -> Iterator[Sessions]:
    """The sessions of a tenant whose pods are assigned to no node."""
    running_platform.apply(VISIBLE)
    running_platform.await_active(VISIBLE)
    yield sessions_of(running_platform, "visible")
    running_platform.delete(VISIBLE)


@pytest.fixture
def waiting(platform: Platform, visible: Sessions) -> Iterator[Sessions]:  # noqa: ARG001 - the watcher runs
    yield visible
    visible.clear()


def kubeconfig_of(platform: Platform, account: str, folder: Path, *rules: Manifest) -> str:
    """The path of a kubeconfig for a ServiceAccount that has these rights in all namespaces."""
    path = folder / f"{account}.kubeconfig"
    return str(service_account_kubeconfig(platform.admin_kubeconfig, path, account, *rules))


def test_logs_are_printed_and_followed_until_the_end(
    waiting: Sessions, control_plane: ControlPlane, tenancy: Run, tmp_path: Path
) -> None:
    seer = kubeconfig_of(waiting.platform, "seer", tmp_path)
    logs = ("sessions", "logs", "chatty", "-n", waiting.namespace)
    waiting.create("chatty")
    waiting.await_phase("chatty", "Pending", "Unschedulable")
    result = tenancy(*logs)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(
        "error: session chatty has no log yet, because its pod does not run: Unsch"
    )
    with kubelet_of(waiting, control_plane.kubeconfig.parent / "certs") as kubelet:
        bind_pod(waiting, "chatty")
        kubelet.write(b"one\n", b"\x1b[2Jtwo\n")
        eventually(lambda: tenancy(*logs).returncode == 0, lambda: str(tenancy(*logs)))
        assert kubelet.paths[-1].endswith("/session")
        assert tenancy(*logs, KUBECONFIG=seer).stdout == "one\n\x1b[2Jtwo\n"
        # On a terminal, control characters are escaped.
        assert tenancy(*logs, FORCE_COLOR="1", TERM="xterm").stdout == "one\n\\u001b[2Jtwo\n"
        environment = {**waiting.platform.environment, "KUBECONFIG": str(waiting.platform.admin_kubeconfig)}
        with subprocess.Popen(
            [sys.executable, "-m", "cli.main", *logs, "-f"], cwd=ROOT, env=environment, stdout=subprocess.PIPE
        ) as followed:
            assert followed.stdout is not None
            assert followed.stdout.readline() == b"one\n"
            # In a pipe, the log is not changed.
            assert followed.stdout.readline() == b"\x1b[2Jtwo\n"
            kubelet.write(b"three \xff\n", is_end=True)
            assert followed.stdout.read() == b"three \xff\n"
        assert followed.returncode == 0


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
    assert "seen" in tenancy("sessions", "-n", waiting.namespace, KUBECONFIG=seer).stdout.split()
    assert "Unschedulable" in tenancy("sessions", "show", *name, KUBECONFIG=seer).stdout
    # A viewer cannot list sessions in other namespaces, and cannot cancel sessions.
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
    sessions: Sessions, platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    outsider = kubeconfig_of(platform, "outsider", tmp_path)
    name = ("guarded", "-n", sessions.namespace)
    sessions.create("guarded", "endless")
    sessions.await_phase("guarded", "Running")
    missing = f"you need the right to {{}} in namespace {sessions.namespace}\n"

    def refusal(command: str) -> str:
        result = tenancy("sessions", command, *name, KUBECONFIG=outsider)
        return result.stderr

    assert refusal("show").endswith(missing.format("get aisessions.platform.ai"))
    rules: list[Manifest] = [
        {"apiGroups": [AISESSION.group], "resources": [AISESSION.plural], "verbs": ["get"]},
    ]
    grant(platform, sessions.namespace, rules)
    eventually(lambda: refusal("logs").endswith(missing.format("list pods")), lambda: refusal("logs"))
    assert "unknown: events is forbidden" in tenancy("sessions", "show", *name, KUBECONFIG=outsider).stdout
    grant(
        platform, sessions.namespace, [*rules, {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    )
    eventually(lambda: refusal("logs").endswith(missing.format("get pods/log")), lambda: refusal("logs"))


def test_show_of_a_tenant_says_which_right_on_sessions_is_missing(
    waiting: Sessions, platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    kinds = (*TENANTS, *MANAGED_KINDS, *OPTIONAL_KINDS, CRD)
    rules = [
        {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["get", "list"]} for kind in kinds
    ]
    reader = kubeconfig_of(platform, "reader", tmp_path, *rules)
    show = ("show", "visible")
    result = eventually(
        lambda: shown if (shown := tenancy(*show, KUBECONFIG=reader)).returncode == 0 else None,
        "the rights apply",
    )
    sessions_text = result.stdout.split("\nSessions\nunknown: ")[1].split("\n\n")[0]
    needed = f"you need the right to list aisessions.platform.ai in namespace {waiting.namespace}"
    assert sessions_text.endswith(needed)


def grant(platform: Platform, namespace: str, rules: list[Manifest]) -> None:
    """Grant the account `outsider` these rights in the namespace."""
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
