"""Putting back what was changed behind our back, and telling a slip of the hand from a fight.

Called by `reconcile`. Somebody who changes an object again and again, such as another controller, would
keep Pulumi running for ever. After a few rounds the object is still put back, but Pulumi rests.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

from tenancy.desired import DesiredState
from tenancy.drift import object_drift, repair_patch
from tenancy.errors import TenancyError
from tenancy.kinds import KIND_BY_KEY
from tenancy.manifest import Manifest, ObjectKey
from watcher.cluster import Cluster, ClusterError

_ROUNDS: Final = 4
_WITHIN_S: Final = 60.0


class DriftContested(TenancyError):
    """An object is changed again as often as it is put back."""

    reason = "DriftContested"

    def __init__(self, key: ObjectKey) -> None:
        super().__init__(
            f"{key} was put back {_ROUNDS} times within {_WITHIN_S:g} s and is changed again each time; "
            "find who writes it: kubectl get --show-managed-fields"
        )


class Repairs:
    """Puts objects back, and notes how often. Shared by all workers."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._times: dict[ObjectKey, deque[float]] = {}
        self._guard = threading.Lock()

    def confirmed(self, desired: DesiredState, suspected: Mapping[ObjectKey, str]) -> dict[ObjectKey, str]:
        """Drift that the cluster itself confirms: our copy may lag behind our own changes.

        An edited object is put back here and now: a wall must not stand open while Pulumi starts. The
        `up` that follows makes again what was deleted, and puts all of it on record.
        """
        found = {}
        for key in suspected:
            live = self._cluster.get(KIND_BY_KEY[key.kind], key.name, key.namespace)
            if fault := object_drift(desired.by_key[key], live):
                found[key] = fault
            if fault and live is not None:
                self._put_back(key, desired.by_key[key], live)
        return found

    def contested(self, found: Iterable[ObjectKey]) -> set[ObjectKey]:
        """Notes these repairs; returns the objects that needed too many of them."""
        now = time.monotonic()
        with self._guard:
            recent = {key: times for key, times in self._times.items() if now - times[-1] < _WITHIN_S}
            self._times = recent
            fought = set()
            for key in found:
                times = recent.setdefault(key, deque(maxlen=_ROUNDS))
                if len(times) == _ROUNDS and now - times[0] < _WITHIN_S:
                    fought.add(key)
                times.append(now)
        return fought

    def _put_back(self, key: ObjectKey, desired: Manifest, live: Manifest) -> None:
        kind, patch = KIND_BY_KEY[key.kind], repair_patch(desired, live)
        try:
            if patch:
                self._cluster.patch(kind, key.name, patch, namespace=key.namespace)
        except ClusterError as error:
            # What can't be changed back is made anew; never a namespace, which holds what is not ours.
            if error.status != 422 or key.kind == "Namespace":
                raise
            self._cluster.delete(kind, key.name, key.namespace, live["metadata"]["uid"])
