"""While Tenants exist, `pulumi destroy` of the platform fails and changes nothing."""

import pytest

from cluster.errors import ClusterError
from tenancy.base.kinds import CRD
from tenancy.base.manifest import Manifest
from tenancy.platform.manifests import platform_manifests
from tenancy.platform.settings import PlatformSettings
from tenancy.spec.crd import tenant_crds
from tests.admission.people import Person, delete
from tests.platform import Platform, tenant_manifest
from tests.platform_stack.conftest import IMAGE, IMAGE_ONLY, Kubectl, PlatformStack, start_as_pod, uids
from tests.waiting import eventually

MANIFESTS = platform_manifests(PlatformSettings(image=IMAGE))
TENANT_CRDS = ("tenants.platform.ai", "tenants.kleff.kleff.io")


def refusals(platform: Platform) -> list[str]:
    """The error messages of requests that delete the two CRDs.

    A message is empty if the CRD can be deleted.
    """
    administrator = Person.named(platform.admin_kubeconfig, "root", "system:masters")
    return [administrator.refusal(delete(CRD, name)) for name in TENANT_CRDS]


def await_guard(platform: Platform, tenant: str) -> None:
    """Wait until the API server rejects the deletion of both CRDs with a message that names the tenant.

    The API server needs some time to read a new CRD. Until then, it rejects the deletion with another
    message.
    """

    def is_refused() -> bool:
        return all(f"Tenant {tenant} still exists" in refusal for refusal in refusals(platform))

    eventually(is_refused, "the deletion of both CRDs is rejected")


def expect_refused_destroy(stack: PlatformStack, manifest: Manifest) -> None:
    """Check that `pulumi destroy` fails while this tenant exists.

    Afterwards, the watcher must still reconcile the tenant.
    """
    platform, name = stack.platform, manifest["metadata"]["name"]
    await_guard(platform, name)
    before = uids(platform, MANIFESTS)
    code, output = stack.destroy()
    assert code != 0
    assert f"Tenant {name} still exists" in output
    assert "platform.ai/allow-delete=true" in output
    assert uids(platform, MANIFESTS) == before
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)


def expect_crds_stay(platform: Platform, kubectl: Kubectl, tenant: str) -> None:
    """Check that the CRDs cannot be deleted, neither one at a time nor as a collection."""
    for name in TENANT_CRDS:
        with pytest.raises(ClusterError, match=f"Tenant {tenant} still exists"):
            platform.admin.delete(CRD, name)
    completed = kubectl("delete", "--raw", f"{CRD.path()}?fieldSelector=metadata.name={TENANT_CRDS[0]}")
    assert f"Tenant {tenant} still exists" in completed.stderr
    assert len(uids(platform, tenant_crds())) == 2


def test_destroy_is_refused_with_a_tenant_of_either_group_and_takes_all_without_any(
    installed: PlatformStack, kubectl: Kubectl
) -> None:
    platform = installed.platform
    first, second = (tenant_manifest("stays"), tenant_manifest("stays-too", "kleff.kleff.io"))
    platform.apply(first)
    platform.await_active(first)
    # The API server rejects the deletion even if it has not read the new CRDs yet.
    assert refusals(platform)[0]
    expect_refused_destroy(installed, first)
    expect_crds_stay(platform, kubectl, "stays")

    platform.delete(first)
    platform.apply(second)
    platform.await_active(second)
    platform.await_gone(first)
    await_guard(platform, "stays-too")

    platform.delete(second)
    platform.await_gone(second)
    eventually(lambda: not any(refusals(platform)), "the CRDs can be deleted")
    assert len(uids(platform, MANIFESTS)) == len(MANIFESTS)
    code, output = installed.destroy()
    assert code == 0, output
    assert uids(platform, MANIFESTS) == {}
    platform.stop()


@pytest.mark.long
def test_allowed_destroy_leaves_the_tenants_namespaces_as_they_are(installed: PlatformStack) -> None:
    platform, manifest = installed.platform, tenant_manifest("left", plan="basic")
    platform.apply(manifest)
    platform.await_active(manifest)
    assert refusals(platform)[0]
    await_guard(platform, "left")
    before = {key: live["metadata"]["uid"] for key, live in platform.objects("left").items()}
    allowed = {"metadata": {"annotations": {"platform.ai/allow-delete": "true"}}}
    for name in TENANT_CRDS:
        platform.admin.patch(CRD, name, allowed)
    code, output = installed.destroy()
    assert code == 0, output
    assert uids(platform, MANIFESTS) == {}
    assert {key: live["metadata"]["uid"] for key, live in platform.objects("left").items()} == before

    # After a new installation of the platform, the same tenant needs no changes.
    installed.up(**IMAGE_ONLY)
    platform.stop()
    start_as_pod(platform)
    platform.apply(manifest)
    tenant = platform.await_active(manifest)
    assert tenant["status"]["lastUpdate"]["resourceChanges"].keys() == {"same"}
    platform.delete(manifest)
    platform.await_gone(manifest)
