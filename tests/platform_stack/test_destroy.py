"""`pulumi destroy` of the platform is refused while there are tenants, and then it has changed nothing."""

import pytest

from tenancy.crd import tenant_crds
from tenancy.kinds import CRD
from tenancy.manifest import Manifest
from tenancy.platform.manifests import platform_manifests
from tenancy.platform.settings import PlatformSettings
from tests.platform import Platform, tenant_manifest
from tests.platform_stack.conftest import IMAGE, Kubectl, start_as_pod, uids, up
from tests.waiting import eventually
from watcher.cluster import ClusterError

MANIFESTS = platform_manifests(PlatformSettings(image=IMAGE))
TENANT_CRDS = ("tenants.platform.ai", "tenants.kleff.kleff.io")


def tenant_of(platform: Platform, name: str, group: str = "platform.ai") -> Manifest:
    manifest = tenant_manifest(name, group, plan="basic")
    platform.apply(manifest)
    platform.await_active(manifest)
    return manifest


def await_guard(kubectl: Kubectl, tenant: str) -> None:
    """The API server takes a while to know a new kind: until then it refuses, but can't say which tenant."""

    def is_refused() -> bool:
        told = [kubectl("delete", "crd", name, "--dry-run=server").stderr for name in TENANT_CRDS]
        return all(f"there is still the Tenant {tenant}" in text for text in told)

    eventually(is_refused, "both CRDs are refused to go")


def destroy(platform: Platform) -> tuple[int, str]:
    told = platform.pulumi("platform", "destroy", "--yes", "--skip-preview")
    return told.returncode, told.stdout + told.stderr


def test_crds_of_a_new_platform_are_refused_to_go_before_anything_is_known(
    installed: Platform, kubectl: Kubectl
) -> None:
    manifest = tenant_of(installed, "early")
    assert kubectl("delete", "crd", "tenants.platform.ai", "--dry-run=server").returncode != 0
    installed.delete(manifest)
    installed.await_gone(manifest)


@pytest.mark.parametrize("group", ["platform.ai", "kleff.kleff.io"])
def test_destroy_with_a_tenant_of_either_group_is_refused_and_changes_nothing(
    installed: Platform, kubectl: Kubectl, group: str
) -> None:
    manifest = tenant_of(installed, "stays", group)
    await_guard(kubectl, "stays")
    before = uids(installed, MANIFESTS)
    code, told = destroy(installed)
    assert code != 0
    assert "there is still the Tenant stays" in told
    assert "platform.ai/allow-delete=true" in told
    assert uids(installed, MANIFESTS) == before

    # The tenant works on: its watcher has all it needs.
    installed.apply({**manifest, "spec": {"plan": "pro"}})
    installed.await_active(manifest)
    installed.delete(manifest)
    installed.await_gone(manifest)


def test_crd_with_tenants_cannot_be_deleted_by_hand(installed: Platform, kubectl: Kubectl) -> None:
    manifest = tenant_of(installed, "kept")
    await_guard(kubectl, "kept")
    for name in TENANT_CRDS:
        with pytest.raises(ClusterError, match="there is still the Tenant kept"):
            installed.admin.delete(CRD, name)
    # Nor as one of many, by a request that names none.
    told = kubectl("delete", "--raw", f"{CRD.path()}?fieldSelector=metadata.name={TENANT_CRDS[0]}")
    assert "there is still the Tenant kept" in told.stderr
    assert len(uids(installed, tenant_crds())) == 2
    installed.delete(manifest)
    installed.await_gone(manifest)


def test_allowed_destroy_leaves_the_tenants_namespaces_as_they_are(
    installed: Platform, kubectl: Kubectl
) -> None:
    manifest = tenant_of(installed, "left")
    await_guard(kubectl, "left")
    before = {key: found["metadata"]["uid"] for key, found in installed.objects("left").items()}
    allowed = {"metadata": {"annotations": {"platform.ai/allow-delete": "true"}}}
    for name in TENANT_CRDS:
        installed.admin.patch(CRD, name, allowed)
    code, told = destroy(installed)
    assert code == 0, told
    assert uids(installed, MANIFESTS) == {}
    assert {key: found["metadata"]["uid"] for key, found in installed.objects("left").items()} == before

    # With the platform back, the same tenant takes up where it was.
    up(installed)
    installed.stop()
    start_as_pod(installed)
    installed.apply(manifest)
    tenant = installed.await_active(manifest)
    assert tenant["status"]["lastUpdate"]["resourceChanges"].keys() == {"same"}
    installed.delete(manifest)
    installed.await_gone(manifest)


def test_destroy_without_tenants_takes_all_of_it(installed: Platform, kubectl: Kubectl) -> None:
    options = ("delete", "crd", *TENANT_CRDS, "--dry-run=server")
    eventually(lambda: kubectl(*options).returncode == 0, "the CRDs may go")
    assert len(uids(installed, MANIFESTS)) == len(MANIFESTS)
    code, told = destroy(installed)
    assert code == 0, told
    assert uids(installed, MANIFESTS) == {}
