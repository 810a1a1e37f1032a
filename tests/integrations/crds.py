"""CRDs as tests put them into a cluster and take them out again."""

import time
from collections.abc import Iterable
from contextlib import suppress

from cluster.client import Cluster, ClusterError
from cluster.served_kinds import is_established
from tenancy.base.kinds import CRD, OPTIONAL_KINDS
from tenancy.base.manifest import Manifest
from tests.waiting import eventually


def needed_crds(crds: Iterable[Manifest]) -> list[Manifest]:
    """Those of the kinds that tenants have objects of: their projects have many more."""
    names = {kind.crd for kind in OPTIONAL_KINDS}
    return [crd for crd in crds if crd["metadata"]["name"] in names]


def install_crds(admin: Cluster, crds: Iterable[Manifest]) -> None:
    """Returns when all of them are in force."""
    names = [admin.apply(crd)["metadata"]["name"] for crd in crds]
    eventually(lambda: all(is_established(admin.get(CRD, name)) for name in names), f"served: {names}")


def remove_crds(admin: Cluster, crds: Iterable[Manifest]) -> None:
    """Returns when they are gone, with all objects of their kinds."""
    names = [crd["metadata"]["name"] for crd in crds]
    for name in names:
        admin.delete(CRD, name)

    def are_gone() -> bool:
        left = [crd for name in names if (crd := admin.get(CRD, name))]
        for crd in left:
            _try_again(admin, crd)
        return not left

    eventually(are_gone, f"gone: {names}")


def _try_again(admin: Cluster, crd: Manifest) -> None:
    """A busy API server gives up on a kind whose storage is not ready, until the CRD changes."""
    conditions = crd.get("status", {}).get("conditions") or []
    if any(entry["reason"] == "InstanceDeletionFailed" for entry in conditions):
        tried = {"metadata": {"annotations": {"tried-at": str(time.monotonic_ns())}}}
        with suppress(ClusterError):  # It may be gone by now.
            admin.patch(CRD, crd["metadata"]["name"], tried)
