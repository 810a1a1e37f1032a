"""CRDs as tests put them into a cluster and take them out again."""

from collections.abc import Iterable

from tenancy.kinds import CRD
from tenancy.manifest import Manifest
from tests.waiting import eventually
from watcher.cluster import Cluster


def install_crds(admin: Cluster, crds: Iterable[Manifest]) -> None:
    """Returns when all of them are in force."""
    names = [admin.apply(crd)["metadata"]["name"] for crd in crds]
    eventually(lambda: all(_is_established(admin.get(CRD, name)) for name in names), f"served: {names}")


def remove_crds(admin: Cluster, crds: Iterable[Manifest]) -> None:
    """Returns when they are gone, with all objects of their kinds."""
    names = [crd["metadata"]["name"] for crd in crds]
    for name in names:
        admin.delete(CRD, name)
    eventually(lambda: not any(admin.get(CRD, name) for name in names), f"gone: {names}")


def _is_established(crd: Manifest | None) -> bool:
    conditions = (crd or {}).get("status", {}).get("conditions") or []
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in conditions)
