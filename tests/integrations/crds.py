"""Installs and removes CRDs in a test cluster."""

import time
from collections.abc import Iterable
from contextlib import suppress

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.served_kinds import is_established
from tenancy.base.kinds import CRD, OPTIONAL_KINDS
from tenancy.base.manifest import Manifest
from tests.waiting import eventually


def needed_crds(crds: Iterable[Manifest]) -> list[Manifest]:
    """The CRDs that tenants use. The projects of the integrations define more CRDs."""
    names = {kind.crd for kind in OPTIONAL_KINDS}
    return [crd for crd in crds if crd["metadata"]["name"] in names]


def install_crds(admin: Cluster, crds: Iterable[Manifest]) -> None:
    """Apply the CRDs, and wait until all of them are established."""
    names = [admin.apply(crd)["metadata"]["name"] for crd in crds]
    eventually(lambda: all(is_established(admin.get(CRD, name)) for name in names), f"served: {names}")


def remove_crds(admin: Cluster, crds: Iterable[Manifest]) -> None:
    """Delete the CRDs. Waits until the CRDs and all objects of their kinds no longer exist."""
    names = [crd["metadata"]["name"] for crd in crds]
    for name in names:
        admin.delete(CRD, name)

    def are_gone() -> bool:
        left = [crd for name in names if (crd := admin.get(CRD, name))]
        for crd in left:
            _retry_deletion(admin, crd)
        return not left

    eventually(are_gone, f"gone: {names}")


def _retry_deletion(admin: Cluster, crd: Manifest) -> None:
    """Make the API server retry a failed deletion of a CRD's objects.

    A busy API server stops the deletion if the storage of the kind is not ready. After a change to the CRD,
    it tries again.
    """
    conditions = crd.get("status", {}).get("conditions") or []
    if any(entry["reason"] == "InstanceDeletionFailed" for entry in conditions):
        change = {"metadata": {"annotations": {"tried-at": str(time.monotonic_ns())}}}
        with suppress(ClusterError):  # The CRD may be gone by now.
            admin.patch(CRD, crd["metadata"]["name"], change)
