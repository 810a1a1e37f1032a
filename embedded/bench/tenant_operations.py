"""Measures how long a running watcher needs for operations on tenants.

Each operation sends a request, and watches objects to find out when the watcher has completed its work.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from cluster.client import Cluster
from embedded.bench.events import Events, Expectation, is_named
from tenancy.base.kinds import NAMESPACE, ROLE, TENANTS
from tenancy.base.labels import MANAGED_SELECTOR
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.spec.tenant_status import ConditionType, condition

# The field manager of `kubectl apply --server-side`.
_FIELD_MANAGER: Final = "kubectl"
_ROLE: Final = "tenant-admin"


class TenantOperations:
    """Runs operations on tenants. Each method returns times in seconds.

    The times do not include the start of a client program, because this class reuses its connection to the
    API server. With `kubectl`, each operation would take about 0.1 s longer.
    """

    def __init__(self, admin: Cluster) -> None:
        self._admin = admin
        self._tenants = Events(admin, TENANTS[0])
        self._roles = Events(admin, ROLE, MANAGED_SELECTOR)
        self._namespaces = Events(admin, NAMESPACE, MANAGED_SELECTOR)

    def apply(self, name: str, **spec: str) -> float:
        """Apply a Tenant with this spec. Returns the time until the watcher has applied it."""
        ready = self._expect_ready(name, spec)
        started_s = time.perf_counter()
        self._send(name, **spec)
        return ready.wait() - started_s

    def apply_at_once(self, names: list[str], parallel: int) -> float:
        """Apply Tenants, with `parallel` requests at a time. Returns the time until all Tenants are Ready."""
        expectations = [self._expect_ready(name, {}) for name in names]
        started_s = time.perf_counter()
        with ThreadPoolExecutor(parallel) as pool:
            list(pool.map(self._send, names))
        return max(ready.wait() for ready in expectations) - started_s

    def cause_drift(self, name: str) -> tuple[float, float]:
        """Delete a Role of a tenant, and return two times.

        The first time ends when the watcher has restored the Role. The second time ends when the watcher has
        recorded the repair in the stack's history. Both times start when a watch reports the deletion.
        """
        namespace = f"tenant-{name}"
        is_role, is_tenant = is_named(_ROLE, namespace), is_named(name)
        gone = self._roles.expect(
            f"the Role of {name} is deleted", lambda before, after: is_role(before) and after is None
        )
        back = self._roles.expect(
            f"the Role of {name} is restored", lambda before, after: before is None and is_role(after)
        )
        recorded = self._tenants.expect(
            f"the repair of {name} is recorded",
            lambda before, after: is_tenant(after) and _version(after) > _version(before),
        )
        self._admin.delete(ROLE, _ROLE, namespace)
        gone_s = gone.wait()
        return back.wait() - gone_s, recorded.wait() - gone_s

    def delete(self, name: str) -> tuple[float, float]:
        """Delete a tenant, and return two times.

        The first time is the time until the Tenant no longer exists. The second time is a part of the first
        time: how long Kubernetes needs to delete the tenant's namespace.
        """
        is_tenant, is_namespace = is_named(name), is_named(f"tenant-{name}")
        gone = self._tenants.expect(
            f"tenant {name} is deleted", lambda before, after: is_tenant(before) and after is None
        )
        terminating = self._namespaces.expect(
            f"the namespace of {name} is terminating",
            lambda _, after: is_namespace(after) and is_deleting(after),
        )
        namespace_gone = self._namespaces.expect(
            f"the namespace of {name} is deleted",
            lambda before, after: is_namespace(before) and after is None,
        )
        started_s = time.perf_counter()
        self._admin.delete(TENANTS[0], name)
        return gone.wait() - started_s, namespace_gone.wait() - terminating.wait()

    def stop(self) -> None:
        """Stop the watches."""
        for events in (self._tenants, self._roles, self._namespaces):
            events.stop()

    def _send(self, name: str, **spec: str) -> None:
        manifest = {
            "apiVersion": TENANTS[0].api_version,
            "kind": TENANTS[0].kind,
            "metadata": {"name": name},
            "spec": {"plan": "basic", **spec},
        }
        self._admin.apply(manifest, field_manager=_FIELD_MANAGER, is_forced=False)

    def _expect_ready(self, name: str, spec: dict[str, str]) -> Expectation:
        is_tenant, wanted = is_named(name), {"plan": "basic", **spec}
        return self._tenants.expect(
            f"tenant {name} is Ready",
            lambda _, after: after is not None and is_tenant(after) and is_ready(after, wanted),
        )


def is_ready(tenant: Manifest, spec: dict[str, Any]) -> bool:
    """Whether the Tenant has these fields in its spec, and the watcher has applied the spec."""
    is_current = (tenant.get("status") or {}).get("observedGeneration") == tenant["metadata"]["generation"]
    has_spec = all(tenant["spec"].get(field) == value for field, value in spec.items())
    return is_current and has_spec and condition(tenant, ConditionType.READY).get("status") == "True"


def _version(tenant: Manifest | None) -> int:
    """The number of the last update of the tenant's stack. 0 if there was no update."""
    version: int = ((tenant or {}).get("status") or {}).get("lastUpdate", {}).get("version", 0)
    return version
