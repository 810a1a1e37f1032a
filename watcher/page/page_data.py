"""The data of the web page. It comes from the informers, the API server and the histories of the stacks."""

import threading
from collections.abc import Callable
from typing import Any, Final

from cachetools import TTLCache

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.live_objects import ManagedObjects
from cluster.plans_in_force import LivePlans
from cluster.tenants import Tenants
from stacks.errors import StackNotFound
from stacks.history import Update
from stacks.stack import Stacks
from tenancy.base.kinds import NAMESPACE, NETWORK_POLICY
from tenancy.base.manifest import Manifest, Objects
from tenancy.changes import Differences
from tenancy.history.spec_changes import unrecorded_changes
from watcher.history_view import UpdateView, history_view
from watcher.page.plan_defaults import plan_defaults
from watcher.page.reachability_graph import reachability
from watcher.sessions.controller import SessionController
from watcher.view import TenantRow, tenant_row, tenant_view

# A cached history expires after this time. If a person runs `pulumi up`, the stack's history changes, but the
# Tenant's status does not. So the watcher does not notice that the cached history is outdated.
_CACHE_S: Final = 60.0
_CACHE_MAX_SIZE: Final = 64
# The maximum number of AISessions in the result of `view`. Waiting and running sessions come first. Ended
# sessions are kept for weeks, so there can be many of them.
_MAX_SESSIONS: Final = 50


class PageRow(TenantRow):
    """A row in the page's list of tenants."""

    # How often AISessions of the tenant have changed. Each change of this number sends the row to all open
    # pages again. A page that shows the tenant then loads the sessions again.
    session_changes: int = 0


class PageData:
    """Provides the data of the page. Changes nothing. Thread-safe."""

    def __init__(
        self,
        cluster: Cluster,
        tenants: Tenants,
        managed: ManagedObjects,
        differences: Callable[[Manifest], Differences],
        sessions: SessionController,
        stacks: Stacks,
        plans: LivePlans,
    ) -> None:
        self._cluster = cluster
        self._tenants = tenants
        self._managed = managed
        self._differences = differences
        self._sessions = sessions
        self._stacks = stacks
        self._plans = plans
        # The cached Pulumi updates of each stack, by the Tenant's uid and `status.lastUpdate.version`.
        self._updates: TTLCache[tuple[str, int], list[Update]] = TTLCache(_CACHE_MAX_SIZE, _CACHE_S)
        self._guard = threading.Lock()

    def row(self, name: str) -> PageRow | None:
        """The tenant's row in the list, or None if there is no such tenant."""
        tenant = self._tenant(name)
        if tenant is None:
            return None
        row = tenant_row(tenant, self._managed.of(name))
        return PageRow(**dict(row), session_changes=self._sessions.change_count(name))

    def view(self, name: str) -> dict[str, Any] | None:
        """All data of a tenant except its history, as a dict for JSON. None if there is no such tenant."""
        tenant = self._tenant(name)
        if tenant is None:
            return None
        live = self._managed.of(name)
        namespaces = [manifest for key, manifest in sorted(live.items()) if key.kind == NAMESPACE.key]
        view = tenant_view(tenant, live, self._differences(tenant)).model_dump(by_alias=True, mode="json")
        network = reachability(namespaces, self._policies(namespaces, live))
        sessions = self._sessions.rows(name)
        return {
            **view,
            "spec": tenant.get("spec") or {},
            "planDefaults": self._plan_defaults(tenant),
            "network": network.model_dump(by_alias=True, mode="json"),
            "sessions": [row.model_dump(by_alias=True, mode="json") for row in sessions[:_MAX_SESSIONS]],
            "sessionCount": len(sessions),
        }

    def history(self, name: str) -> list[UpdateView] | None:
        """The history of a tenant, newest first. None if there is no such tenant.

        If the Pulumi updates are not cached, this method reads them from the state backend. With some
        backends, this takes about a second.
        """
        tenant = self._tenant(name)
        if tenant is None:
            return None
        return history_view(self._stack_updates(tenant), unrecorded_changes(tenant.get("status")))

    def _stack_updates(self, tenant: Manifest) -> list[Update]:
        version: int = ((tenant.get("status") or {}).get("lastUpdate") or {}).get("version") or 0
        key = (tenant["metadata"]["uid"], version)
        with self._guard:
            if key in self._updates:
                return self._updates[key]
        try:
            updates = self._stacks.history(tenant["metadata"]["name"])
        except StackNotFound:
            return []
        if version:
            with self._guard:
                self._updates[key] = updates
        return updates

    def _tenant(self, name: str) -> Manifest | None:
        return next(iter(self._tenants.named(name)), None)

    def _plan_defaults(self, tenant: Manifest) -> dict[str, Any] | None:
        return plan_defaults(tenant, self._plans.current) if self._plans.is_loaded.is_set() else None

    def _policies(self, namespaces: list[Manifest], live: Objects) -> list[Manifest]:
        """All NetworkPolicies in the namespaces, read from the API server.

        The informers' copies are not enough, because the informers watch only managed policies. Users of the
        tenant can create other policies, and an adopted namespace may already contain other policies.
        """
        try:
            return [
                policy
                for namespace in namespaces
                for policy in self._cluster.list(NETWORK_POLICY, namespace=namespace["metadata"]["name"])[0]
            ]
        except ClusterError:
            # The API server cannot be read. Use the informers' copies of the managed policies.
            return [manifest for key, manifest in live.items() if key.kind == NETWORK_POLICY.key]
