"""`pulumi destroy` of the platform is refused while there are tenants, and then it has changed nothing."""

import pytest

from cluster.client import ClusterError
from tenancy.base.kinds import CRD
from tenancy.base.manifest import Manifest
from tenancy.platform.manifests import platform_manifests
from tenancy.platform.settings import PlatformSettings
from tenancy.spec.crd import tenant_crds
from tests.admission.people import Person, delete
from tests.platform import Platform, tenant_manifest
from tests.platform_stack.conftest import IMAGE, PLAIN, Kubectl, PlatformStack, start_as_pod, uids
from tests.waiting import eventually

MANIFESTS = platform_manifests(PlatformSettings(image=IMAGE))
TENANT_CRDS = ("tenants.platform.ai", "tenants.kleff.kleff.io")


def refusals(platform: Platform) -> list[str]:
    """Why each of the two CRDs may not be deleted; empty for one that may."""
    administrator = Person.named(platform.admin_kubeconfig, "root", "system:masters")
    return [administrator.refusal(delete(CRD, name)) for name in TENANT_CRDS]


def await_guard(platform: Platform, tenant: str) -> None:
    """The API server takes a while to know a new kind: until then it refuses, but can't say which tenant."""

    def is_refused() -> bool:
        return all(f"there is still the Tenant {tenant}" in refusal for refusal in refusals(platform))

    eventually(is_refused, "both CRDs are refused to go")


def expect_refused_destroy(stack: PlatformStack, manifest: Manifest) -> None:
    """With this one tenant. It works on: its watcher has all it needs."""
    platform, name = stack.platform, manifest["metadata"]["name"]
    await_guard(platform, name)
    before = uids(platform, MANIFESTS)
    code, told = stack.destroy()
    assert code != 0
    assert f"there is still the Tenant {name}" in told
    assert "platform.ai/allow-delete=true" in told
    assert uids(platform, MANIFESTS) == before
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)


def expect_crds_stay(platform: Platform, kubectl: Kubectl, tenant: str) -> None:
    """Nobody can delete them by hand."""
    for name in TENANT_CRDS:
        with pytest.raises(ClusterError, match=f"there is still the Tenant {tenant}"):
            platform.admin.delete(CRD, name)
    # Nor as one of many, by a request that names none.
    told = kubectl("delete", "--raw", f"{CRD.path()}?fieldSelector=metadata.name={TENANT_CRDS[0]}")
    assert f"there is still the Tenant {tenant}" in told.stderr
    assert len(uids(platform, tenant_crds())) == 2


def test_destroy_is_refused_with_a_tenant_of_either_group_and_takes_all_without_any(
    installed: PlatformStack, kubectl: Kubectl
) -> None:
    platform = installed.platform
    first, second = (tenant_manifest("stays"), tenant_manifest("stays-too", "kleff.kleff.io"))
    platform.apply(first)
    platform.await_active(first)
    # Whether or not anything is known of the new kinds yet.
    assert refusals(platform)[0]
    expect_refused_destroy(installed, first)
    expect_crds_stay(platform, kubectl, "stays")

    platform.delete(first)
    platform.apply(second)
    platform.await_active(second)
    platform.await_gone(first)
    expect_refused_destroy(installed, second)

    platform.delete(second)
    platform.await_gone(second)
    eventually(lambda: not any(refusals(platform)), "the CRDs may go")
    assert len(uids(platform, MANIFESTS)) == len(MANIFESTS)
    code, told = installed.destroy()
    assert code == 0, told
    assert uids(platform, MANIFESTS) == {}
    platform.stop()


def test_allowed_destroy_leaves_the_tenants_namespaces_as_they_are(installed: PlatformStack) -> None:
    platform, manifest = installed.platform, tenant_manifest("left", plan="basic")
    platform.apply(manifest)
    platform.await_active(manifest)
    assert refusals(platform)[0]
    await_guard(platform, "left")
    before = {key: found["metadata"]["uid"] for key, found in platform.objects("left").items()}
    allowed = {"metadata": {"annotations": {"platform.ai/allow-delete": "true"}}}
    for name in TENANT_CRDS:
        platform.admin.patch(CRD, name, allowed)
    code, told = installed.destroy()
    assert code == 0, told
    assert uids(platform, MANIFESTS) == {}
    assert {key: found["metadata"]["uid"] for key, found in platform.objects("left").items()} == before

    # With the platform back, the same tenant takes up where it was.
    installed.up(**PLAIN)
    platform.stop()
    start_as_pod(platform)
    platform.apply(manifest)
    tenant = platform.await_active(manifest)
    assert tenant["status"]["lastUpdate"]["resourceChanges"].keys() == {"same"}
    platform.delete(manifest)
    platform.await_gone(manifest)
