"""Commands of a user with limited rights. The user has only the documented role for the web page."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import TENANTS
from tenancy.base.manifest import Manifest
from tests.cli.conftest import Completed, Run
from tests.kubeconfigs import service_account_kubeconfig
from tests.platform import ROOT, Platform, tenant_manifest
from tests.shared import await_settled, shared_tenants
from tests.waiting import eventually

LIMITED = tenant_manifest("limited", namespaces=[{"name": "dev"}])
QUOTAS = "list resourcequotas in all namespaces"
PLANS = "get configmaps/tenancy-plans in namespace tenancy-system"


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    """A paused tenant with drift."""
    with shared_tenants(running_platform, LIMITED):
        spec = {**LIMITED["spec"], "paused": True}
        await_settled(running_platform, running_platform.apply({**LIMITED, "spec": spec}))
        running_platform.remove("Role", "tenant-limited-dev", "tenant-viewer")
        running_platform.await_condition(LIMITED, "Paused", "Drifted")
        yield


def page_user(platform: Platform, folder: Path, name: str) -> str:
    """Create a user with the documented role for the web page. Returns the path of its kubeconfig."""
    text = (ROOT / "docs/howto/page.md").read_text()
    roles = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    (role,) = [role for role in roles if role["kind"] == "ClusterRole"]
    source, path = platform.admin_kubeconfig, folder / name
    kubeconfig = service_account_kubeconfig(source, path, name, *role["rules"])

    def can_list() -> bool:
        try:
            return all(Cluster.connect(kubeconfig).list(kind) for kind in TENANTS)
        except ClusterError:
            return False

    eventually(can_list, "the rights are effective")
    return str(kubeconfig)


@pytest.fixture
def limited(platform: Platform, tenancy: Run, tmp_path: Path) -> Run:
    """Runs `tenancy` as a user who has only the role for the web page."""
    kubeconfig = page_user(platform, tmp_path, "page-user")

    def run(*arguments: str, **environment: str) -> Completed:
        return tenancy(*arguments, KUBECONFIG=kubeconfig, **environment)

    return run


def test_list_shows_the_tenants_and_names_the_missing_right(limited: Run) -> None:
    result = limited("list")
    assert result.returncode == 0, result.stderr
    (line,) = [line.split() for line in result.stdout.splitlines() if line.startswith("limited ")]
    assert " ".join(line).endswith("Active basic 1 - - - Paused, Drifted")
    (note,) = result.stderr.splitlines()
    assert note.startswith(f"note: the output is incomplete: you cannot {QUOTAS}; ask an administrator to ")
    assert note.endswith(
        "kubectl create clusterrolebinding tenancy-preview-default-page-user --clusterrole=tenancy-preview "
        "--serviceaccount=default:page-user"
    )
    rows = {row["name"]: row for row in json.loads(limited("list", "-o", "json").stdout)}
    assert (rows["limited"]["phase"], rows["limited"]["missing"]) == ("Active", [QUOTAS])


def test_show_prints_the_status_and_names_each_missing_right(limited: Run) -> None:
    result = limited("show", "limited")
    assert result.returncode == 0, result.stderr
    assert "Phase   Active, paused, drifted\n" in result.stdout
    assert f"\nQuotas\nunknown: you cannot {QUOTAS}\n" in result.stdout
    assert "\ntenant-limited-dev   -         yes" in result.stdout
    assert "\nAccess\nunknown: you cannot list rolebindings.rbac.authorization.k8s.io in all" in result.stdout
    assert f"\nManual changes (drift)\nunknown: you cannot {PLANS}\n" in result.stdout
    for binding in (
        "kubectl create clusterrolebinding tenancy-preview-",
        "kubectl -n tenancy-system create rolebinding",
    ):
        assert binding in result.stderr
    data = json.loads(limited("show", "limited", "-o", "json").stdout)
    assert {QUOTAS, PLANS, "list aisessions.platform.ai in namespace tenant-limited-dev"} <= {
        *data["missing"]
    }


def test_diff_reports_the_drift_in_the_status_and_fails(limited: Run) -> None:
    result = limited("diff", "limited")
    assert result.returncode == 1
    assert f"unknown: you cannot {PLANS}\n" in result.stdout
    assert "The watcher reports the condition Drifted=True" in result.stdout
    assert PLANS in result.stderr
    data = json.loads(limited("diff", "limited", "-o", "json").stdout)
    assert data["drift"] is None
    assert PLANS in data["missing"]


def test_diff_compares_the_kinds_that_the_user_may_list(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    rules: list[Manifest] = [
        {"apiGroups": ["*"], "resources": ["tenants", "customresourcedefinitions"], "verbs": ["get"]},
        {"apiGroups": ["*"], "resources": ["roles"], "verbs": ["list"]},
    ]
    path = tmp_path / "roles-reader"
    kubeconfig = service_account_kubeconfig(platform.admin_kubeconfig, path, "roles-reader", *rules)
    command = ("diff", "limited", "--plans", str(ROOT / "tenancy/plans.yaml"))

    def difference() -> Completed | None:
        result = tenancy(*command, KUBECONFIG=str(kubeconfig))
        return result if result.returncode == 2 else None

    result = eventually(difference, "the rights are effective")
    assert result.stdout.startswith("Manual changes (drift)\n+ Role tenant-limited-dev/tenant-viewer\n\n")
    assert "you cannot list namespaces; list " in result.stderr


def test_commands_without_any_right_name_the_role(platform: Platform, tenancy: Run, tmp_path: Path) -> None:
    source, path = platform.admin_kubeconfig, tmp_path / "nobody"
    kubeconfig = str(service_account_kubeconfig(source, path, "nobody"))
    for command in (("list",), ("show", "limited"), ("diff", "limited"), ("preview", str(ROOT / "examples"))):
        result = tenancy(*command, KUBECONFIG=kubeconfig)
        assert (result.returncode, result.stdout) == (1, ""), command
        assert "error: " in result.stderr
    result = tenancy("list", KUBECONFIG=kubeconfig)
    assert "you cannot list tenants.platform.ai, tenants.kleff.kleff.io; ask an admin" in result.stderr
    assert "--clusterrole=tenancy-preview --serviceaccount=default:nobody" in result.stderr


def test_doctor_fails_until_the_roles_that_it_names_are_bound(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    kubeconfig = page_user(platform, tmp_path, "page-doctor")

    def results() -> tuple[int, list[Manifest]]:
        result = tenancy("doctor", "-o", "json", KUBECONFIG=kubeconfig)
        return result.returncode, json.loads(result.stdout)

    exit_code, findings = results()
    skipped = {entry["subject"]: entry for entry in findings if entry["isSkipped"]}
    assert exit_code == 1
    assert {"CRDs", "watcher's rights", "admission", "watcher", "plans", "sessions"} <= skipped.keys()
    assert findings[-1]["message"].startswith(f"{len(skipped)} of 16 checks could not run")
    assert "--clusterrole=tenancy-doctor " in skipped["admission"]["fix"]
    fixes = {fix for entry in skipped.values() for fix in entry["fix"].split(" && ")}
    for fix in fixes:
        assert "auth can-i" not in fix
    # The output contains `kubectl create clusterrole` before the command that binds this ClusterRole.
    environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
    for fix in sorted(fixes):
        subprocess.run(["bash", "-euc", fix], env=environment, check=True, capture_output=True)
    eventually(lambda: not any(entry["isSkipped"] for entry in results()[1]), "all checks run")
