"""`tenancy list` and `tenancy crd`, and how a shell completes names."""

import json

import yaml

from tenancy.crd import crds
from tenancy.kinds import SERVICE_ACCOUNT, Kind
from tests.cli.conftest import Run
from tests.platform import NewTenant, Platform
from tests.waiting import eventually

POD = Kind("v1", "Pod", "pods")


def test_list_shows_phase_plan_and_quota(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    platform.await_active(new_tenant("listed", plan="pro"))
    told = tenancy("list")
    assert told.returncode == 0, told.stderr
    header, *lines = told.stdout.splitlines()
    assert header.split()[:4] == ["NAME", "PHASE", "PLAN", "NAMESPACES"]
    (line,) = [line.split() for line in lines if line.split()[0] == "listed"]
    assert line[:4] == ["listed", "Active", "pro", "1"]
    quota = platform.get("ResourceQuota", "tenant-listed", "tenant-quota")
    assert quota is not None
    assert line[4] == f"0/{quota['spec']['hard']['cpu']}"

    rows = {row["name"]: row for row in json.loads(tenancy("list", "-o", "json").stdout)}
    assert rows["listed"]["phase"] == "Active"
    assert yaml.safe_load(tenancy("list", "-o", "yaml").stdout)[0].keys() == rows["listed"].keys()


def test_list_says_why_a_tenant_failed(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    platform.await_condition(new_tenant("hopeless", plan="none-such"), "UnknownPlan")
    (line,) = [line for line in tenancy("list").stdout.splitlines() if line.startswith("hopeless")]
    assert "Failed" in line
    assert "UnknownPlan" in line


def test_no_cluster_is_one_line_on_standard_error(tenancy: Run) -> None:
    told = tenancy("list", KUBECONFIG="/nowhere")
    assert told.returncode == 1
    assert told.stdout == ""
    assert told.stderr.startswith("error: no cluster to talk to")


def test_a_wrong_command_line_is_an_error_and_no_change(tenancy: Run) -> None:
    for arguments in (("list", "--nonsense"), ("nonsense",), ("list", "-o", "nonsense")):
        told = tenancy(*arguments)
        assert told.returncode == 1, told.stdout
        assert "nonsense" in told.stderr


def test_crd_prints_what_is_installed(tenancy: Run) -> None:
    assert list(yaml.safe_load_all(tenancy("crd").stdout)) == crds()


def test_list_is_filtered_and_sorted(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    first, busy, failed = (
        new_tenant("a-idle", plan="pro"),
        new_tenant("b-busy"),
        new_tenant("c-bad", plan="no"),
    )
    for manifest in (first, busy):
        platform.await_active(manifest)
    platform.await_condition(failed, "UnknownPlan")
    limits = {"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "64Mi"}
    security = {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
        "capabilities": {"drop": ["ALL"]},
    }
    container = {"name": "c", "image": "c:1", "resources": {"limits": limits}, "securityContext": security}
    metadata = {"name": "pod", "namespace": "tenant-b-busy"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    eventually(
        lambda: platform.admin.get(SERVICE_ACCOUNT, "default", "tenant-b-busy"), "pods have an account"
    )
    platform.admin.create(POD, pod)

    def names(*arguments: str) -> list[str]:
        rows = json.loads(tenancy("list", "-o", "json", *arguments).stdout)
        return [row["name"] for row in rows if row["name"] in ("a-idle", "b-busy", "c-bad")]

    assert names() == ["a-idle", "b-busy", "c-bad"]
    assert names("--sort", "phase") == ["c-bad", "a-idle", "b-busy"]
    assert names("--sort", "cpu")[0] == names("--sort", "memory")[0] == "b-busy"
    assert names("--plan", "pro") == ["a-idle"]
    assert names("--phase", "failed") == ["c-bad"]
    assert tenancy("list", "--plan", "nobodys").stdout == "No tenant is like that.\n"


def test_shell_completes_names_of_tenants(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    for name in ("tabbed", "tabular", "other"):
        new_tenant(name, paused=True)

    def completed(words: str, **environment: str) -> list[str]:
        position = str(words.count(" "))
        told = tenancy(
            _TENANCY_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=position, **environment
        )
        assert told.stderr == ""
        return told.stdout.split()

    for command in ("show", "diff", "history", "rollback", "pause", "resume"):
        assert completed(f"tenancy {command} tab") == ["tabbed", "tabular"]
    given = f"tenancy --kubeconfig {platform.admin_kubeconfig} show tabu"
    assert completed(given, KUBECONFIG="/nowhere") == ["tabular"]
    # No cluster is no reason to write into somebody's line.
    assert completed("tenancy show tab", KUBECONFIG="/nowhere") == []
