"""CRDs of integrations are installed and removed while a tenant exists.

The tenant's status lists the missing CRDs. The other objects of the tenant stay in the cluster.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import CRD, INTEGRATION_KINDS, OPTIONAL_KINDS, Kind
from tenancy.base.manifest import Manifest
from tenancy.platform.constraint_templates import constraint_templates
from tests.conftest import CrdFiles
from tests.integrations.conftest import NewTenant
from tests.integrations.crds import install_crds, needed_crds, remove_crds
from tests.integrations.gatekeeper import running_gatekeeper
from tests.platform import Platform, condition
from tests.waiting import eventually

READY = "IntegrationsReady"
ISTIO, HNC, GATEKEEPER = (INTEGRATION_KINDS[name] for name in ("Istio", "HNC", "Gatekeeper"))
POLICY = "AuthorizationPolicy.security.istio.io"


@pytest.fixture(autouse=True)
def _no_crds(platform: Platform) -> None:
    """Remove the CRDs that the previous test has installed."""
    remove_crds(
        platform.admin, [crd for kind in OPTIONAL_KINDS if (crd := platform.admin.get(CRD, kind.crd))]
    )


def await_missing(platform: Platform, manifest: Manifest, kinds: Iterable[Kind]) -> None:
    """Wait until the tenant is Active, and its status reports that the CRDs of these kinds are missing."""

    def is_reported() -> bool:
        ready = condition(platform.tenant(manifest) or {}, READY)
        return ready.get("status") == "False" and all(kind.crd in ready["message"] for kind in kinds)

    eventually(is_reported, f"the status names the missing CRDs; is {platform.tenant(manifest)}")
    platform.await_active(manifest)


def test_missing_crds_are_named_and_the_rest_of_the_tenant_stands(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("bare", hostnames=["bare.test"], registries=["a.test"])
    await_missing(platform, manifest, OPTIONAL_KINDS)
    assert {kind for kind, _, _ in platform.objects("bare")} >= {"Namespace", "NetworkPolicy", "RoleBinding"}


def test_tenant_is_completed_when_crds_come_and_lives_on_when_they_go(
    platform: Platform, new_tenant: NewTenant, crd_files: CrdFiles
) -> None:
    manifest = new_tenant("tide", gatekeeper={"enabled": False})
    platform.await_condition(manifest, "CRDsMissing", READY)
    crds = needed_crds([*crd_files("istio"), *crd_files("hnc")])
    install_crds(platform.admin, crds)
    platform.await_condition(manifest, "Applied", READY)
    assert platform.get(POLICY, "tenant-tide", "tenant-isolation")
    assert platform.get("HierarchyConfiguration.hnc.x-k8s.io", "tenant-tide", "hierarchy")

    remove_crds(platform.admin, crds)
    await_missing(platform, manifest, (*ISTIO[1:], *HNC))
    platform.expect_no_changes("tide")
    # The watcher still applies a new spec and repairs drift.
    platform.apply({**manifest, "spec": {**manifest["spec"], "plan": "pro"}})
    platform.await_active(manifest)
    platform.remove("Role", "tenant-tide", "tenant-viewer")
    platform.await_condition(manifest, "Repaired", "Drifted")

    install_crds(platform.admin, crds)
    platform.await_condition(manifest, "Applied", READY)
    assert platform.get(POLICY, "tenant-tide", "tenant-isolation")


def test_tenant_that_lost_its_crds_can_be_deleted(
    platform: Platform, new_tenant: NewTenant, crd_files: CrdFiles
) -> None:
    crds = needed_crds(crd_files("istio"))
    install_crds(platform.admin, crds)
    manifest = new_tenant("ebb", gatekeeper={}, hnc={})
    platform.await_active(manifest)
    platform.await_condition(manifest, "Applied", READY)
    platform.stop()
    remove_crds(platform.admin, crds)
    platform.delete(manifest)
    platform.start()
    platform.await_gone(manifest)
    assert platform.namespace("tenant-ebb") is None


def test_constraints_come_with_gatekeeper_and_go_with_it(
    platform: Platform,
    new_tenant: NewTenant,
    gatekeeper_binary: Path,
    control_plane: ControlPlane,
    crd_files: CrdFiles,
    tmp_path: Path,
) -> None:
    manifest = new_tenant("late", registries=["a.test"], istio={}, hnc={})
    platform.await_condition(manifest, "CRDsMissing", READY)
    with running_gatekeeper(gatekeeper_binary, control_plane, crd_files("gatekeeper"), tmp_path) as running:
        for template in constraint_templates():
            running.add_template(template)
        platform.await_condition(manifest, "Applied", READY)
        for kind in GATEKEEPER:
            running.await_enforced(kind, "tenant-late")
    remove_crds(platform.admin, [crd for kind in GATEKEEPER if (crd := platform.admin.get(CRD, kind.crd))])
    await_missing(platform, manifest, GATEKEEPER)
