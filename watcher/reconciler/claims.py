"""Which tenant holds which namespace and which host. Two tenants never share one, not even for a moment.

A claim is taken before the first object is made. It comes from three places: what this
process has handed out, what a live namespace's label says, what another Tenant's status says.
"""

import threading
from collections.abc import Container, Iterable, Mapping
from typing import Final

from cluster.client import Cluster
from cluster.live_objects import is_ending, tenant_of
from cluster.tenants import known_hosts, known_namespaces, read_tenants
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import CONFIG_MAP, DISRUPTION_BUDGET, KIND_BY_KEY, NAMESPACE, SERVICE
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.names import MANAGED_LABEL, SHARED_LABEL, namespace_name
from tenancy.base.platform_names import INTEGRATION_NAMESPACES, SYSTEM_NAMESPACE
from tenancy.desired import DesiredState
from tenancy.objects.policy_annotations import hosts_overlap
from tenancy.spec.tenant import Tenant

_NEVER_ADOPTED: Final = ("default", SYSTEM_NAMESPACE, *INTEGRATION_NAMESPACES)


class NamespaceTaken(TenancyError):
    """A namespace this tenant would have is somebody else's, or can't be had."""

    reason = "NamespaceTaken"


class HostTaken(TenancyError):
    """A host this tenant would have is another tenant's."""

    reason = "HostTaken"


class ObjectTaken(TenancyError):
    """An extra object would overwrite one of the tenant's own."""

    reason = "ObjectTaken"


# Extra objects of these kinds stand among the tenant's own, which may have their names already.
_AMONG_OTHERS: Final = {kind.key for kind in (CONFIG_MAP, SERVICE, DISRUPTION_BUDGET)}


def check_names_are_free(cluster: Cluster, desired: DesiredState, live: Mapping[ObjectKey, Manifest]) -> None:
    """Looks for objects that are not ours where extra objects are to be made."""
    for key in desired.by_key:
        if key.kind in _AMONG_OTHERS and key not in live:
            found = cluster.get(KIND_BY_KEY[key.kind], key.name, key.namespace)
            if found is not None and _labels(found).get(MANAGED_LABEL) != "true":
                raise ObjectTaken(
                    f"extraResources: {key} exists already and is not ours; "
                    "delete it, or give ours another name"
                )


def check_against_others(cluster: Cluster, manifest: Manifest, given: Tenant, desired: DesiredState) -> None:
    """Refuses what the watcher would refuse: namespaces, hosts and objects that are somebody else's. For
    those who look only once."""
    claims = Claims(cluster)
    for other in read_tenants(cluster):
        claims.remember(other["metadata"]["name"], known_namespaces(other), known_hosts(other))
    claims.take(given, desired.hostnames, known_namespaces(manifest))
    check_names_are_free(cluster, desired, {})


class Claims:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._holders: dict[str, str] = {}
        self._hosts: dict[str, tuple[str, ...]] = {}
        self._guard = threading.Lock()

    def remember(self, tenant: str, namespaces: Iterable[str], hosts: Iterable[str]) -> None:
        """A claim from an earlier run, as the tenant's status tells it. The first one stands."""
        with self._guard:
            for name in namespaces:
                self._holders.setdefault(name, tenant)
            self._add_hosts(tenant, hosts)

    def take(self, tenant: Tenant, hosts: tuple[str, ...], known: Container[str] = ()) -> None:
        """Claims all the tenant's namespaces and hosts, or none. Namespaces known to be its own are not
        looked at again."""
        namespaces = list(tenant.namespaces())
        for index, name in enumerate(namespaces):
            if name not in known:
                self._check_live(tenant, index, name)
        with self._guard:
            for index, name in enumerate(namespaces):
                holder = self._holders.get(name, tenant.name)
                if holder != tenant.name:
                    raise _taken(tenant, index, name, f"belongs to tenant {holder!r}")
            self._check_hosts(tenant.name, hosts)
            self._holders.update(dict.fromkeys(namespaces, tenant.name))
            # Those it had before stay its own until the change is applied.
            self._add_hosts(tenant.name, hosts)

    def release(self, tenant: str, keep: tuple[str, ...] = (), hosts: tuple[str, ...] = ()) -> None:
        """Gives back the tenant's namespaces and hosts, all but those to keep."""
        with self._guard:
            self._holders = {
                name: holder for name, holder in self._holders.items() if holder != tenant or name in keep
            }
            self._hosts.pop(tenant, None)
            if hosts:
                self._hosts[tenant] = hosts

    def may_remove(self, tenant: str, key: ObjectKey) -> bool:
        """Whether an object that names this tenant is really its own: a label alone can be forged."""
        home = key.namespace or key.name
        holder = self._holder(home)
        has_its_name = home == namespace_name(tenant) or home.startswith(namespace_name(tenant, "") + "-")
        return holder == tenant or (holder is None and has_its_name)

    def may_release(self, tenant: str, namespace: str) -> bool:
        """Whether our labels may come off a namespace that names this tenant: unless it is another's."""
        return self._holder(namespace) in (None, tenant)

    def _add_hosts(self, tenant: str, hosts: Iterable[str]) -> None:
        self._hosts[tenant] = tuple(dict.fromkeys((*self._hosts.get(tenant, ()), *hosts)))

    def _holder(self, name: str) -> str | None:
        with self._guard:
            return self._holders.get(name)

    def _check_hosts(self, tenant: str, hosts: tuple[str, ...]) -> None:
        for index, host in enumerate(hosts):
            for other, theirs in self._hosts.items():
                if other != tenant and any(hosts_overlap(host, their) for their in theirs):
                    raise HostTaken(
                        f"spec.hostnames[{index}]: host {host!r} belongs to tenant {other!r}; "
                        "give it another host"
                    )

    def _check_live(self, tenant: Tenant, index: int, name: str) -> None:
        given = tenant.spec.namespaces[index] if tenant.spec.namespaces else None
        live = self._cluster.get(NAMESPACE, name)
        if live is None:
            if given and given.existing:
                raise _taken(tenant, index, name, "does not exist, so it can't be adopted")
            return
        holder = tenant_of(live)
        if holder == tenant.name and _labels(live).get(MANAGED_LABEL) == "true":
            return
        if holder and holder != tenant.name:
            raise _taken(tenant, index, name, f"belongs to tenant {holder!r}")
        if not tenant.spec.adopt:
            raise _taken(tenant, index, name, "exists already and is no tenant's; adopt: true would take it")
        if name in _NEVER_ADOPTED or name.startswith("kube-") or SHARED_LABEL in _labels(live):
            raise _taken(tenant, index, name, "is the platform's own, and can't be adopted")
        if is_ending(live):
            raise _taken(tenant, index, name, "is being deleted, and can't be adopted")


def _labels(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("labels") or {}


def _taken(tenant: Tenant, index: int, name: str, fact: str) -> NamespaceTaken:
    return NamespaceTaken(f"{tenant.namespace_field(index)}: namespace {name!r} {fact}")
