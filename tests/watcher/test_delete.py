"""A deleted Tenant disappears after its objects and its stack are deleted, and not before."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from embedded.run.install_platform import install_platform
from tenancy.base.kinds import CRD, POD, Kind
from tenancy.base.manifest import Manifest
from tests.checkpoint import stack_file
from tests.platform import NewTenant, Platform, condition, tenant_manifest
from tests.waiting import eventually


@pytest.fixture(scope="module")
def tenants(running_platform: Platform) -> Iterator[dict[str, Manifest]]:
    """One tenant per test, each applied. Two of them are already being deleted."""
    running_platform.ensure_started()
    manifests = {
        name: tenant_manifest(name, namespaces=[{"name": "a"}, {"name": "b"}])
        for name in ("ends", "spoiled", "stuck", "clung-to", "state-lost")
    }
    for manifest in manifests.values():
        running_platform.apply(manifest)
    for manifest in manifests.values():
        running_platform.await_active(manifest)
    running_platform.apply({**manifests["spoiled"], "spec": {"plan": "nosuchplan"}})
    running_platform.await_condition(manifests["spoiled"], "UnknownPlan")
    stack_file(running_platform.folder / "state", "state-lost").unlink()
    for name in ("spoiled", "state-lost"):
        assert running_platform.namespace(f"tenant-{name}-a") is not None
        running_platform.delete(manifests[name])
    yield manifests
    running_platform.verify_and_abandon(manifests.values())


def test_deleted_tenant_takes_namespaces_and_stack_with_it(
    platform: Platform, tenants: dict[str, Manifest]
) -> None:
    manifest = tenants["ends"]
    assert stack_file(platform.folder / "state", "ends").exists()
    platform.delete(manifest)

    def is_gone() -> bool:
        tenant = platform.tenant(manifest)
        if tenant is not None:
            assert tenant["metadata"]["finalizers"] == ["kleff.io/namespace-finalizer"]
            return False
        # The finalizer is removed last.
        assert platform.objects("ends") == {}
        assert not stack_file(platform.folder / "state", "ends").exists()
        return True

    eventually(is_gone, "the tenant is gone")
    assert platform.pulumi("tenant-ends", "stack", "history").returncode != 0


def test_tenant_with_an_invalid_spec_can_be_deleted(platform: Platform, tenants: dict[str, Manifest]) -> None:
    platform.await_gone(tenants["spoiled"])
    assert platform.objects("spoiled") == {}


def test_tenant_that_was_never_applied_can_be_deleted(platform: Platform) -> None:
    manifest = tenant_manifest("neverbuilt", plan="nosuchplan")
    platform.apply(manifest)
    platform.await_condition(manifest, "UnknownPlan")
    platform.delete(manifest)
    platform.await_gone(manifest)


def test_failed_destroy_keeps_finalizer_and_says_why(
    platform: Platform, tenants: dict[str, Manifest]
) -> None:
    manifest = tenants["stuck"]
    state = stack_file(platform.folder / "state", "stuck")
    content = state.read_bytes()
    state.write_bytes(content[: len(content) // 2])

    platform.delete(manifest)
    ready = platform.await_condition(manifest, "DestroyFailed")
    assert "destroy failed" in ready["message"]
    tenant = platform.tenant(manifest)
    assert tenant is not None
    assert tenant["metadata"]["finalizers"] == ["kleff.io/namespace-finalizer"]
    assert tenant["status"]["phase"] == "Terminating"
    assert "deletionTimestamp" not in (platform.namespace("tenant-stuck-a") or {})["metadata"]

    state.write_bytes(content)
    platform.await_gone(manifest)
    assert platform.objects("stuck") == {}


def test_namespace_that_stays_terminating_blocks_the_deletion_and_is_named(
    platform: Platform, tenants: dict[str, Manifest]
) -> None:
    manifest, namespace = tenants["clung-to"], "tenant-clung-to-a"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": []}
    metadata = {"name": "holder", "namespace": namespace, "finalizers": ["example.com/hold"]}
    platform.apply({**role, "metadata": metadata})
    platform.delete(manifest)

    def is_reported() -> bool:
        message = condition(platform.tenant(manifest) or {}, "Ready").get("message", "")
        return (
            f"waiting for namespaces to be deleted: {namespace} (" in message
            and "example.com/hold" in message
        )

    eventually(is_reported, "the status names the namespace and the finalizer")
    assert (platform.tenant(manifest) or {})["metadata"]["finalizers"] == ["kleff.io/namespace-finalizer"]
    platform.patch("Role", namespace, "holder", {"metadata": {"finalizers": None}})
    platform.await_gone(manifest)
    assert platform.namespace(namespace) is None


def test_lost_state_does_not_orphan_namespaces(platform: Platform, tenants: dict[str, Manifest]) -> None:
    platform.await_gone(tenants["state-lost"])
    assert platform.objects("state-lost") == {}


def test_deleting_the_crd_deletes_no_namespace(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("survives", "kleff.kleff.io", plan="basic")
    platform.await_active(manifest)
    before = platform.objects("survives")

    allowed = {"metadata": {"annotations": {"platform.ai/allow-delete": "true"}}}
    platform.admin.patch(CRD, "tenants.kleff.kleff.io", allowed)

    def is_gone() -> bool:
        # The admission policy rejects the deletion until the API server has loaded its parameter kind.
        with contextlib.suppress(ClusterError):
            platform.admin.delete(CRD, "tenants.kleff.kleff.io")
        return platform.admin.get(CRD, "tenants.kleff.kleff.io") is None

    eventually(is_gone, "the CRD is gone")
    install_platform(platform.admin)
    assert platform.objects("survives").keys() == before.keys()

    platform.apply(manifest)
    tenant = platform.await_active(manifest)
    assert tenant["status"]["lastUpdate"]["resourceChanges"].keys() == {"same"}
    after = platform.objects("survives")
    assert {key: item["metadata"]["uid"] for key, item in after.items()} == {
        key: item["metadata"]["uid"] for key, item in before.items()
    }


def test_watcher_has_only_the_rights_that_it_needs(platform: Platform) -> None:
    watcher = Cluster.connect(Path(platform.environment["KUBECONFIG"]))
    for kind in (Kind("v1", "Secret", "secrets"), Kind("apps/v1", "Deployment", "deployments")):
        with pytest.raises(ClusterError, match="forbidden"):
            watcher.list(kind)
    # The watcher only reads the pods of AI sessions. Their Jobs create and delete them.
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own", "namespace": "default"}}
    with pytest.raises(ClusterError, match="forbidden"):
        watcher.create(POD, {**pod, "spec": {"containers": [{"name": "main", "image": "any"}]}})
    with pytest.raises(ClusterError, match="forbidden"):
        watcher.delete(POD, "own", "default")
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    with pytest.raises(ClusterError, match="attempting to grant RBAC permissions"):
        watcher.apply({**role, "metadata": {"name": "own", "namespace": "default"}, "rules": rules})
