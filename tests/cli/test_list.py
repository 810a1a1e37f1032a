"""`tenancy list` and `tenancy crd`."""

import json

import yaml

from tenancy.crd import crds
from tests.cli.conftest import Run
from tests.platform import NewTenant, Platform


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
