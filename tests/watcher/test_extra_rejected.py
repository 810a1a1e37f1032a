"""The watcher rejects extra objects that are invalid, have a forbidden kind, or have a name that is taken."""

import pytest

from cluster.errors import ClusterError
from tenancy.base.manifest import Manifest
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.watcher.extra_objects import extra

BAD: dict[str, tuple[Manifest, str]] = {
    "version": (extra("ConfigMap", "x", "v2"), "spec.extraResources[0].apiVersion: 'v2' is not allowed"),
    "placeholder": (
        extra("ConfigMap", "x", data={"a": "${tenant.nope}"}),
        "spec.extraResources[0].data.a: unknown placeholder ${tenant.nope}",
    ),
    "label": (
        extra("ConfigMap", "x", data={"a": "${tenant.labels[nope]}"}),
        "spec.extraResources[0].data.a: namespace 'tenant-bad-label' has no value for ${tenant.labels[nope]}",
    ),
    "taken": (
        extra("ResourceQuota", "tenant-quota", spec={"hard": {"cpu": 1}}),
        (
            "spec.extraResources[0].metadata.name: the tenant already has ResourceQuota "
            "tenant-bad-taken/tenant-quota"
        ),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_extra_object_is_rejected_with_its_field(
    case: str, platform: Platform, new_tenant: NewTenant
) -> None:
    manifest, message = BAD[case]
    tenant = new_tenant(f"bad-{case}", extraResources=[manifest])
    assert platform.await_condition(tenant, "InvalidSpec")["message"].startswith(message)
    assert platform.objects(f"bad-{case}") == {}


def test_kind_that_is_not_allowed_is_refused_by_the_api_server(platform: Platform) -> None:
    secret = extra("Secret", "x")
    with pytest.raises(ClusterError, match=r"spec\.extraResources\[0\]\.kind: Unsupported value") as refusal:
        platform.create(tenant_manifest("bad-kind", extraResources=[secret]))
    assert refusal.value.status == 422


def test_existing_object_of_the_tenant_is_not_overwritten(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("settler")
    platform.await_active(manifest)
    existing = {**extra("ConfigMap", "settings"), "data": {"mine": "yes"}}
    platform.apply({**existing, "metadata": {"name": "settings", "namespace": "tenant-settler"}})
    extra_object = extra("ConfigMap", "settings", data={"mine": "no"})
    platform.apply({**manifest, "spec": {"extraResources": [extra_object]}})
    ready = platform.await_condition(manifest, "ObjectTaken")
    assert ready["message"] == (
        "spec.extraResources: ConfigMap tenant-settler/settings exists already and is not managed by the "
        "platform; delete it, or rename the extra object"
    )
    up = platform.pulumi("tenant-settler", "up", "--yes", "--skip-preview")
    assert up.returncode != 0
    assert "ConfigMap tenant-settler/settings exists already" in up.stdout + up.stderr
    live = platform.get("ConfigMap", "tenant-settler", "settings")
    assert live is not None
    assert live["data"] == {"mine": "yes"}

    platform.remove("ConfigMap", "tenant-settler", "settings")
    platform.apply({**manifest, "spec": {"extraResources": [extra_object], "displayName": "tried again"}})
    platform.await_active(manifest)
