"""The optional kinds that the cluster serves.

Optional kinds are custom resources of other projects. Their CRDs can be missing in a cluster.
"""

import threading
from collections.abc import Callable
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.informer import Informer, OnChange
from tenancy.base.kinds import CRD, MUTATING_POLICIES, OPTIONAL_KINDS, Kind
from tenancy.base.labels import MANAGED_SELECTOR
from tenancy.base.manifest import Manifest, is_deleting

log = structlog.get_logger(__name__)

_NOT_FOUND: Final = 404
_KIND_BY_CRD = {kind.crd: kind for kind in OPTIONAL_KINDS}


def is_served(cluster: Cluster, kind: Kind) -> bool:
    """Whether the kind's CRD exists, is established and serves the kind's version."""
    crd = cluster.get(CRD, kind.crd)
    if crd is None or is_deleting(crd):
        return False
    version = kind.api_version.rpartition("/")[2]
    versions = {entry["name"] for entry in crd["spec"]["versions"] if entry["served"]}
    return version in versions and is_established(crd)


def is_established(crd: Manifest | None) -> bool:
    """Whether the condition Established of the CRD is True. A new CRD has no conditions yet."""
    conditions = ((crd or {}).get("status") or {}).get("conditions") or []
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in conditions)


def served_kinds(cluster: Cluster) -> frozenset[Kind]:
    """The optional kinds that the cluster serves now, read from the API server."""
    return frozenset(kind for kind in OPTIONAL_KINDS if is_served(cluster, kind))


def served_mutating_policies(cluster: Cluster) -> list[Kind]:
    """The API versions of MutatingAdmissionPolicy that the API server serves.

    Versions that the client's user cannot list are omitted.
    """
    served = []
    for kind in MUTATING_POLICIES:
        try:
            cluster.list(kind, is_metadata_only=True)
        except ClusterError as error:
            if error.status != _NOT_FOUND and not error.is_forbidden:
                raise
            continue
        served.append(kind)
    return served


class Integrations:
    """Watches all CRDs, and the managed objects of each optional kind that the cluster serves. Thread-safe.

    Managed objects are the objects with the label that tenancy adds to the objects it creates.
    """

    def __init__(
        self,
        cluster: Cluster,
        on_object: OnChange,
        on_served: Callable[[], None],
        on_crd: Callable[[str], None],
    ) -> None:
        """Create the informer `crds`, which watches the CRDs. The caller must start this informer.

        - `on_object` is called for each change to a managed object of an optional kind.
        - `on_served` is called when the cluster starts or stops serving an optional kind.
        - `on_crd` is called with the name of each CRD that changes.
        """
        self.crds = Informer(cluster, CRD, self._crd_changed, is_metadata_only=True)
        self._cluster = cluster
        self._on_object = on_object
        self._on_served = on_served
        self._on_crd = on_crd
        self._informers: dict[Kind, Informer] = {}
        self._guard = threading.Lock()

    @property
    def served(self) -> frozenset[Kind]:
        with self._guard:
            return frozenset(self._informers)

    @property
    def informers(self) -> list[Informer]:
        with self._guard:
            return [self.crds, *self._informers.values()]

    def _crd_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        crd = after or before
        if crd is None:
            return
        self._on_crd(crd["metadata"]["name"])
        kind = _KIND_BY_CRD.get(crd["metadata"]["name"])
        if kind is None:
            return
        is_served_now = is_served(self._cluster, kind)
        if is_served_now == (kind in self.served):
            return
        if is_served_now:
            informer = Informer(self._cluster, kind, self._on_object, MANAGED_SELECTOR)
            informer.start()
            with self._guard:
                self._informers[kind] = informer
        else:
            with self._guard:
                informer = self._informers.pop(kind)
            informer.stop_and_clear()
        log.info("integration served" if is_served_now else "integration no longer served", crd=kind.crd)
        self._on_served()
