"""A state backend that belongs to another cluster is refused, until this cluster claims the backend."""

import json
from collections.abc import Iterator

import pytest

from stacks.backend import backend_url
from stacks.ownership.cluster_record import ClusterRecord, Record
from tenancy.base.kinds import LEASE, NAMESPACE
from tenancy.base.platform_names import BACKEND_ANNOTATION, SYSTEM_NAMESPACE, WATCHER
from tests.cli.conftest import Run, tenancy
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants
from tests.waiting import eventually

__all__ = ["tenancy"]

TENANT = tenant_manifest("of-cluster", plan="basic")
OTHER = "00000000-0000-0000-0000-000000000001"


@pytest.fixture(scope="module", autouse=True)
def _tenant(running_platform: Platform) -> Iterator[None]:
    with shared_tenants(running_platform, TENANT):
        yield


@pytest.fixture
def record(platform: Platform) -> ClusterRecord:
    return platform.stacks.cluster_record


def own_id(platform: Platform) -> str:
    uid: str = (platform.admin.get(NAMESPACE, "kube-system") or {})["metadata"]["uid"]
    return uid


def test_backend_records_the_cluster_and_the_lease_records_the_backend(
    platform: Platform, record: ClusterRecord
) -> None:
    stored = record.read()
    assert stored is not None
    assert stored.cluster == own_id(platform)
    lease = platform.admin.get(LEASE, WATCHER, SYSTEM_NAMESPACE) or {}
    assert json.loads(lease["metadata"]["annotations"][BACKEND_ANNOTATION])["id"] == stored.backend


def test_record_can_be_read_and_written_with_the_cli(platform: Platform, record: ClusterRecord) -> None:
    """Other backends than file backends have no files, so that only the CLI can access them."""
    by_cli = ClusterRecord(backend_url("s3://bucket"), platform.stacks._cli)
    before = record.read()
    assert before is not None
    assert by_cli.read() == before
    assert by_cli.claim(OTHER, is_forced=True) == Record(OTHER, before.backend) == record.read()
    assert record.claim(own_id(platform), is_forced=True) == before == by_cli.read()


def test_backend_of_another_cluster_is_refused_until_it_is_claimed(
    platform: Platform, record: ClusterRecord, tenancy: Run
) -> None:
    platform.stop()
    record.claim(OTHER, is_forced=True)
    problem = f"belongs to another cluster: it records the cluster {OTHER}"
    platform.launch()
    eventually(lambda: problem in platform.http_get("/readyz")[1], "the watcher refuses the backend")
    assert platform.http_get("/readyz")[0] == 503

    stack = "tenant-of-cluster"
    for command in (("preview",), ("up", "--yes", "--skip-preview"), ("destroy", "--yes", "--run-program")):
        result = platform.pulumi(stack, *command)
        assert result.returncode != 0
        assert problem in result.stdout + result.stderr
    history = tenancy("history", "of-cluster")
    assert history.returncode == 1
    assert problem in " ".join(history.stderr.split())
    findings = json.loads(tenancy("doctor", "-o", "json").stdout)
    assert [entry["level"] for entry in findings if problem in entry["message"]] == ["FAILED"]

    refusal = tenancy("state", "claim")
    assert (refusal.returncode, "add --yes" in refusal.stderr) == (1, True)
    assert tenancy("state", "claim", "--yes").returncode == 0
    eventually(lambda: platform.http_get("/readyz")[0] == 200, "the watcher uses the backend")
    manifest = platform.apply({**TENANT, "spec": {"plan": "pro"}})
    platform.await_active(manifest)
    assert tenancy("history", "of-cluster").returncode == 0
