"""For tenants of the shipped plans, `tenancy prove` finds no gaps in the isolation."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenancy.base.kinds import (
    CONFIG_MAP,
    CRD,
    JOB,
    NETWORK_POLICY,
    POD,
    REPORT_KINDS,
    ROLE_BINDING,
    SERVICE,
    TENANTS,
)
from tenancy.isolation.catalog import CHECKS
from tenancy.isolation.check import PROBE
from tests.cli.conftest import Run
from tests.cli.previews import previewer_kubeconfig
from tests.cli.proving import PEOPLE, WRITER, create_crd, writer_of_tenants
from tests.platform import Platform, tenant_manifest

PLANS = ("basic", "pro", "enterprise")
# With the settings of the shipped plans, at least this number of checks is not skipped.
TRIED = 100


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    tenants = [tenant_manifest(f"proof-{plan}", plan=plan, **PEOPLE) for plan in PLANS]
    running_platform.ensure_started()
    for tenant in tenants:
        running_platform.add(tenant)
    for tenant in tenants:
        running_platform.await_active(tenant)
    with writer_of_tenants(running_platform):
        yield
    for tenant in tenants:
        running_platform.abandon(tenant)


@pytest.mark.parametrize("plan", PLANS)
def test_tenant_of_each_shipped_plan_is_isolated(plan: str, tenancy: Run) -> None:
    result = tenancy("prove", f"proof-{plan}", "--writer", WRITER, "-o", "json")
    (report,) = json.loads(result.stdout)
    assert {each["id"]: each["answer"] for each in report["results"] if each["outcome"] == "failed"} == {}
    assert result.returncode == 0
    assert len(report["results"]) == len(CHECKS)
    skipped = {each["id"]: each["answer"] for each in report["results"] if each["outcome"] == "skipped"}
    assert len(CHECKS) - len(skipped) >= TRIED, skipped


def test_nothing_stays_in_the_cluster(platform: Platform) -> None:
    """The tests above have sent requests for these objects, but only as dry runs."""
    kinds = (*TENANTS, POD, CONFIG_MAP, SERVICE, ROLE_BINDING, NETWORK_POLICY, JOB)
    names = {manifest["metadata"]["name"] for kind in kinds for manifest in platform.admin.list(kind)[0]}
    assert PROBE not in names


def test_right_to_impersonate_is_required(platform: Platform, tenancy: Run, tmp_path: Path) -> None:
    reader = str(previewer_kubeconfig(platform, tmp_path / "reader.kubeconfig"))
    result = tenancy("prove", "proof-basic", KUBECONFIG=reader)
    assert (result.returncode, result.stdout) == (1, "")
    grant = (
        "kubectl create clusterrole tenancy-prove --verb=impersonate --resource=users,groups,serviceaccounts"
    )
    assert grant in result.stderr


def test_results_are_written_to_reports(platform: Platform, tenancy: Run) -> None:
    kind = REPORT_KINDS[1]
    refused = tenancy("prove", "proof-basic", "--report")
    assert refused.returncode == 1
    assert "the cluster has no CRD clusterreports.openreports.io or clusterpolicyreports" in refused.stderr
    create_crd(platform, kind)
    try:
        result = tenancy("prove", "proof-basic", "--report")
        assert f"wrote {kind.crd}/tenancy-isolation-proof-basic" in result.stderr
        report = platform.admin.get(kind, "tenancy-isolation-proof-basic") or {}
        assert report["summary"]["fail"] == 0
        assert {each["policy"] for each in report["results"]} == {check.id for check in CHECKS}
    finally:
        platform.admin.delete(CRD, kind.crd)


def test_other_impersonation_is_rejected(tenancy: Run) -> None:
    result = tenancy("prove", "proof-basic", "--as", "somebody")
    assert result.returncode == 1
    assert "--as cannot be combined with prove" in result.stderr
