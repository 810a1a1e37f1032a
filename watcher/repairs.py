"""Putting back what was changed behind our back, and telling a slip of the hand from a fight.

Called by `reconcile`. Somebody who changes an object again and again, such as another controller, would
keep Pulumi running for ever. After a few rounds the object is still put back, but Pulumi rests.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tenancy.desired import DesiredState
from tenancy.drift import object_drift, repair_patch
from tenancy.errors import TenancyError
from tenancy.kinds import KIND_BY_KEY
from tenancy.manifest import Manifest, ObjectKey
from watcher.cluster import Cluster, ClusterError

_ROUNDS: Final = 4
# Counted from the end of the repair: on a slow cluster a repair itself may take longer.
_REST_S: Final = 15.0
# Longer than any repair takes.
_FORGET_S: Final = 3600.0


class DriftContested(TenancyError):
    """An object is changed again as often as it is put back."""

    reason = "DriftContested"

    def __init__(self, key: ObjectKey) -> None:
        super().__init__(
            f"{key} was put back {_ROUNDS} times in a row and is changed again within {_REST_S:g} s "
            "each time; find who writes it: kubectl get --show-managed-fields"
        )


@dataclass
class _Fight:
    """How often an object was put back without a rest, and when that last began or ended."""

    rounds: int
    last_s: float


class Repairs:
    """Puts objects back, and notes how often. Shared by all workers."""

    def __init__(self, cluster: Cluster, now_s: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._now_s = now_s
        self._fights: dict[ObjectKey, _Fight] = {}
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
        """Notes that these repairs begin; returns the objects that needed too many of them in a row."""
        now_s = self._now_s()
        contested = set()
        with self._guard:
            self._fights = {
                key: fight for key, fight in self._fights.items() if now_s - fight.last_s < _FORGET_S
            }
            for key in found:
                fight = self._fights.get(key)
                rounds = fight.rounds if fight and now_s - fight.last_s < _REST_S else 0
                if rounds >= _ROUNDS:
                    contested.add(key)
                self._fights[key] = _Fight(rounds + 1, now_s)
        return contested

    def ended(self, repaired: Iterable[ObjectKey]) -> None:
        """Notes that these repairs have ended, well or not."""
        now_s = self._now_s()
        with self._guard:
            for key in repaired:
                if fight := self._fights.get(key):
                    fight.last_s = now_s

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
