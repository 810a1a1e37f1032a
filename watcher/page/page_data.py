"""What the page shows, read from the watcher's live copies and the stacks' history. It changes nothing."""

import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster.client import Cluster, ClusterError
from cluster.live_objects import ManagedObjects
from cluster.tenants import Tenants
from stacks.errors import StackNotFound
from stacks.stack import Stacks
from tenancy.base.kinds import NAMESPACE, NETWORK_POLICY
from tenancy.base.manifest import Manifest
from tenancy.changes import object_changes
from tenancy.desired import DesiredState
from watcher.page.reachability_graph import reachability
from watcher.view import Live, TenantRow, UpdateView, tenant_row, tenant_view, update_view

# An operator may run Pulumi by hand, of which no status tells: a history is not taken for current longer.
_REMEMBER_S: Final = 60.0
_REMEMBERED_MAX: Final = 64


class _Remembered(NamedTuple):
    uid: str
    version: int
    until: float
    updates: list[UpdateView]


class Board:
    def __init__(
        self,
        cluster: Cluster,
        tenants: Tenants,
        managed: ManagedObjects,
        desired: Callable[[str], DesiredState | None],
        stacks: Stacks,
    ) -> None:
        self._cluster = cluster
        self._tenants = tenants
        self._managed = managed
        self._desired = desired
        self._stacks = stacks
        self._histories: dict[str, _Remembered] = {}
        self._guard = threading.Lock()

    def row(self, name: str) -> TenantRow | None:
        tenant = self._tenant(name)
        return tenant_row(tenant, self._managed.of(name)) if tenant else None

    def view(self, name: str) -> dict[str, Any] | None:
        """All of a tenant but its history, as plain data; None where there is no such tenant."""
        tenant = self._tenant(name)
        if tenant is None:
            return None
        live, desired = self._managed.of(name), self._desired(name)
        namespaces = [found for key, found in sorted(live.items()) if key.kind == NAMESPACE.key]
        drift = object_changes(desired, live) if desired else ()
        shown = tenant_view(tenant, live, drift).model_dump(by_alias=True, mode="json")
        network = reachability(namespaces, self._policies(namespaces, live))
        return {**shown, "network": network.model_dump(by_alias=True, mode="json")}

    def history(self, name: str) -> list[UpdateView] | None:
        """The updates of a tenant's stack, newest first; None where there is no such tenant. May take a
        second: it is a process of its own, unless the answer is known."""
        tenant = self._tenant(name)
        if tenant is None:
            return None
        uid = tenant["metadata"]["uid"]
        version = ((tenant.get("status") or {}).get("lastUpdate") or {}).get("version")
        with self._guard:
            known = self._histories.get(name)
        if known and (known.uid, known.version) == (uid, version) and time.monotonic() < known.until:
            return known.updates
        try:
            updates = [update_view(update) for update in self._stacks.history(name)]
        except StackNotFound:
            return []
        if version is not None:
            self._remember(name, _Remembered(uid, version, time.monotonic() + _REMEMBER_S, updates))
        return updates

    def _tenant(self, name: str) -> Manifest | None:
        return next(iter(self._tenants.named(name)), None)

    def _policies(self, namespaces: list[Manifest], live: Live) -> list[Manifest]:
        """All that stand in the namespaces: tenants make some for themselves, and adopted namespaces bring
        some along. Those are not watched."""
        try:
            return [
                policy
                for namespace in namespaces
                for policy in self._cluster.list(NETWORK_POLICY, namespace=namespace["metadata"]["name"])[0]
            ]
        except ClusterError:
            # Like all else that is shown, as it was when the cluster last answered.
            return [found for key, found in live.items() if key.kind == NETWORK_POLICY.key]

    def _remember(self, name: str, answer: _Remembered) -> None:
        with self._guard:
            self._histories.pop(name, None)
            self._histories[name] = answer
            while len(self._histories) > _REMEMBERED_MAX:
                del self._histories[next(iter(self._histories))]
