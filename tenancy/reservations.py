"""Reserves namespaces and hosts for tenants. A namespace or host belongs to at most one tenant at any time.

Namespaces and hosts are reserved before the first object of the tenant is created. A reservation ends when
the namespace or host no longer belongs to the tenant. After a restart of the watcher, reservations are
restored from the status of the Tenants.
"""

import threading
from collections.abc import Iterable
from dataclasses import replace

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.names import namespace_name
from tenancy.decision import Decision, Facts, decide


class Reservations:
    """The reservations of all tenants. Thread-safe."""

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}
        self._hosts: dict[str, tuple[str, ...]] = {}
        self._guard = threading.Lock()

    def remember(self, tenant: str, namespaces: Iterable[str], hosts: Iterable[str]) -> None:
        """Reserve the namespaces and hosts that the status of a Tenant contains.

        Skip namespaces that are already reserved for another tenant.
        """
        with self._guard:
            for namespace in namespaces:
                self._holders.setdefault(namespace, tenant)
            self._add_hosts(tenant, hosts)

    def decide_and_reserve(self, manifest: Manifest, facts: Facts) -> Decision:
        """Call `decide`, and reserve the namespaces and hosts of the tenant.

        If `decide` raises Rejection, reserve nothing. The decision and the reservation are one atomic step.
        So if two tenants request the same namespace or host at the same time, one of them is rejected.
        Earlier reservations of the tenant stay until `release` is called.
        """
        with self._guard:
            decision = decide(manifest, replace(facts, holders=self._holders, hosts=self._hosts))
            tenant = decision.tenant
            self._holders.update(dict.fromkeys(tenant.namespaces(), tenant.name))
            self._add_hosts(tenant.name, decision.desired.hostnames)
        return decision

    def release(self, tenant: str, keep: tuple[str, ...] = (), hosts: tuple[str, ...] = ()) -> None:
        """Release the tenant's reservations, except the namespaces in `keep` and the hosts in `hosts`."""
        with self._guard:
            self._holders = {
                namespace: holder
                for namespace, holder in self._holders.items()
                if holder != tenant or namespace in keep
            }
            self._hosts.pop(tenant, None)
            if hosts:
                self._hosts[tenant] = hosts

    def may_remove(self, tenant: str, key: ObjectKey) -> bool:
        """Whether the watcher may delete an object that has the tenant's label.

        The label alone does not prove that the object belongs to the tenant, because users can set any label.
        The object's namespace must be reserved for the tenant. If it is not reserved for any tenant, its name
        must contain the name of the tenant, such as `tenant-acme` or `tenant-acme-dev` for tenant `acme`.
        """
        namespace = key.namespace or key.name
        holder = self._holder(namespace)
        has_its_name = namespace == namespace_name(tenant) or namespace.startswith(
            namespace_name(tenant, "") + "-"
        )
        return holder == tenant or (holder is None and has_its_name)

    def may_release(self, tenant: str, namespace: str) -> bool:
        """Whether the watcher may remove the platform's labels from a namespace of the tenant.

        False if the namespace is reserved for another tenant.
        """
        return self._holder(namespace) in (None, tenant)

    def _add_hosts(self, tenant: str, hosts: Iterable[str]) -> None:
        self._hosts[tenant] = tuple(dict.fromkeys((*self._hosts.get(tenant, ()), *hosts)))

    def _holder(self, namespace: str) -> str | None:
        with self._guard:
            return self._holders.get(namespace)
