"""A deleted Tenant is removed only after its objects and its stack have been deleted."""

import contextlib
import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from embedded.run.install_platform import install_platform
from tenancy.base.kinds import CONFIG_MAP, CRD, POD, RBAC_GROUP, ROLE_BINDING, Kind
from tenancy.base.manifest import Manifest
from tests.admission.people import Person
from tests.checkpoint import stack_file
from tests.commandline import run_tenancy
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually


@pytest.fixture(scope="module")
def tenants(running_platform: Platform) -> Iterator[dict[str, Manifest]]:
    """The Tenants of the tests. All of them have been applied, and two of them are already being deleted."""
    running_platform.stop()
    running_platform.start("--deletion-blocked-after", "0.5")
    manifests = {
        name: tenant_manifest(name, adminUsers=["clara"], namespaces=[{"name": "a"}, {"name": "b"}])
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
        # The watcher removes the finalizer last.
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


def test_users_cannot_block_the_deletion_of_their_tenant_unnoticed(
    platform: Platform, tenants: dict[str, Manifest]
) -> None:
    """The tenant's admin creates objects with finalizers. One of them is a RoleBinding for the admin."""
    manifest, namespace = tenants["clung-to"], "tenant-clung-to-a"
    clara = Person.named(platform.admin_kubeconfig, "clara")
    held = {"name": "holder", "namespace": namespace, "finalizers": ["example.com/hold"]}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": held}
    role_ref = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": "tenant-admin"}
    subjects = [{"apiGroup": RBAC_GROUP, "kind": "User", "name": "clara"}]
    binding = {**config_map, "apiVersion": f"{RBAC_GROUP}/v1", "kind": "RoleBinding"}
    clara.create(CONFIG_MAP, config_map)
    clara.create(ROLE_BINDING, {**binding, "roleRef": role_ref, "subjects": subjects})
    platform.delete(manifest)

    message = platform.await_condition(manifest, "DeletionBlocked")["message"]
    assert f"objects block the deletion of namespaces: {namespace} (" in message
    assert "configmaps. has " in message
    assert "example.com/hold in 1 resource instances" in message
    assert message.endswith("; to remove them, run: tenancy doctor")
    assert ("DeletionBlocked", message) in platform.events("clung-to")
    assert (platform.tenant(manifest) or {})["metadata"]["finalizers"] == ["kleff.io/namespace-finalizer"]
    assert platform.admin.list(ROLE_BINDING, namespace=namespace)[0] == []
    with pytest.raises(ClusterError, match="forbidden"):
        clara.patch(CONFIG_MAP, "holder", {"data": {"a": "b"}}, namespace=namespace)

    environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
    findings = json.loads(run_tenancy("doctor", "-o", "json", environment=environment).stdout)
    block = f"configmaps/holder in namespace {namespace} "
    (fix,) = [finding["fix"] for finding in findings if block in finding["message"]]
    assert fix == (
        f"kubectl -n {namespace} patch configmaps holder --type=merge "
        """-p '{"metadata": {"finalizers": null}}'"""
    )
    subprocess.run(shlex.split(fix), env=environment, check=True)
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
        # The admission policy rejects the deletion until the API server has loaded the policy's parameter
        # kind.
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
    # The watcher only reads the pods of AI sessions. The sessions' Jobs create and delete these pods.
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own", "namespace": "default"}}
    with pytest.raises(ClusterError, match="forbidden"):
        watcher.create(POD, {**pod, "spec": {"containers": [{"name": "main", "image": "any"}]}})
    with pytest.raises(ClusterError, match="forbidden"):
        watcher.delete(POD, "own", "default")
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    with pytest.raises(ClusterError, match="attempting to grant RBAC permissions"):
        watcher.apply({**role, "metadata": {"name": "own", "namespace": "default"}, "rules": rules})
