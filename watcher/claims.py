"""Which tenant holds which namespace. Two tenants never share one, not even for a moment.

A claim is taken before the first object is made. It comes from three places: what this
process has handed out, what a live namespace's label says, what another Tenant's status says.
"""

import threading
from collections.abc import Container, Iterable

from tenancy.errors import TenancyError
from tenancy.kinds import NAMESPACE
from tenancy.manifest import Manifest, ObjectKey
from tenancy.names import MANAGED_LABEL, namespace_name
from tenancy.tenant import Tenant
from watcher.cluster import Cluster
from watcher.managed import tenant_of


class NamespaceTaken(TenancyError):
    """A namespace this tenant would make is somebody else's."""

    reason = "NamespaceTaken"


class NamespaceClaims:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._holders: dict[str, str] = {}
        self._guard = threading.Lock()

    def remember(self, tenant: str, namespaces: Iterable[str]) -> None:
        """A claim from an earlier run, as the tenant's status tells it. The first one stands."""
        with self._guard:
            for name in namespaces:
                self._holders.setdefault(name, tenant)

    def take(self, tenant: Tenant, known: Container[str] = ()) -> None:
        """Claims all the tenant's namespaces, or none. Those known to be its own are not looked at again."""
        namespaces = list(tenant.namespaces())
        for index, name in enumerate(namespaces):
            if name not in known:
                self._check_live(tenant, index, name)
        with self._guard:
            for index, name in enumerate(namespaces):
                holder = self._holders.get(name, tenant.name)
                if holder != tenant.name:
                    raise _taken(tenant, index, name, f"belongs to tenant {holder!r}")
            self._holders.update(dict.fromkeys(namespaces, tenant.name))

    def release(self, tenant: str, keep: tuple[str, ...] = ()) -> None:
        """Gives back the tenant's claims, all but those to keep."""
        with self._guard:
            self._holders = {
                name: holder for name, holder in self._holders.items() if holder != tenant or name in keep
            }

    def may_remove(self, tenant: str, key: ObjectKey) -> bool:
        """Whether an object that names this tenant is really its own: a label alone can be forged."""
        home = key.name if key.kind == "Namespace" else key.namespace
        has_its_name = home == namespace_name(tenant) or home.startswith(namespace_name(tenant, "") + "-")
        return has_its_name and self._holder(home) in (None, tenant)

    def _holder(self, name: str) -> str | None:
        with self._guard:
            return self._holders.get(name)

    def _check_live(self, tenant: Tenant, index: int, name: str) -> None:
        live = self._cluster.get(NAMESPACE, name)
        if live is None or (tenant_of(live) == tenant.name and _is_managed(live)):
            return
        holder = tenant_of(live)
        is_others = holder and holder != tenant.name
        fact = f"belongs to tenant {holder!r}" if is_others else "exists already and is no tenant's"
        raise _taken(tenant, index, name, fact)


def _is_managed(namespace: Manifest) -> bool:
    labels = namespace["metadata"].get("labels") or {}
    return bool(labels.get(MANAGED_LABEL) == "true")


def _taken(tenant: Tenant, index: int, name: str, fact: str) -> NamespaceTaken:
    return NamespaceTaken(f"{tenant.namespace_field(index)}: namespace {name!r} {fact}")
