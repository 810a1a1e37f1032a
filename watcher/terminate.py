"""The end of a tenant: destroy its stack, see that nothing is left, and only then let it go."""

from typing import Final

import structlog

from stacks.errors import StackError
from stacks.stack import Stacks
from tenancy.kinds import CRD, NAMESPACE
from tenancy.manifest import Manifest, object_key
from tenancy.names import MANAGED_SELECTOR, TENANT_LABEL, crd_name
from watcher.claims import NamespaceClaims
from watcher.cluster import Cluster, ClusterError
from watcher.events import WARNING, record_event
from watcher.managed import is_ending, tenant_of
from watcher.retry import TryAgain
from watcher.status import terminating_status
from watcher.tenants import Tenants, has_finalizer, known_namespaces

log = structlog.get_logger(__name__)

# A namespace's end wakes the tenant; this is for one that does not come to its end.
_LOOK_AGAIN_S: Final = 15.0


class Terminator:
    def __init__(self, cluster: Cluster, stacks: Stacks, tenants: Tenants, claims: NamespaceClaims) -> None:
        self._cluster = cluster
        self._stacks = stacks
        self._tenants = tenants
        self._claims = claims
        self._destroyed: set[str] = set()

    def terminate(self, tenant: Manifest) -> float | None:
        """One turn of a tenant that is being deleted. The spec is not read: a bad one must not hold it."""
        name, uid = tenant["metadata"]["name"], tenant["metadata"]["uid"]
        if not has_finalizer(tenant):
            return None  # Nothing was ever made for it.
        try:
            if self._crd_is_ending(tenant):
                log.warning("released without destroying: the CRD is being deleted", tenant=name)
                self._tenants.remove_finalizer(tenant)
                return None
            if uid not in self._destroyed:
                destroying = terminating_status(tenant, "Deleting", "destroying the stack")
                tenant = self._tenants.write_status(tenant, destroying)
                self._stacks.destroy(name, "tenant deleted")
                self._destroyed.add(uid)
            if left := self._leftovers(tenant):
                waiting = f"waiting for the end of {'; '.join(left)}"
                self._tenants.write_status(tenant, terminating_status(tenant, "Deleting", waiting))
                return _LOOK_AGAIN_S
        except (StackError, ClusterError) as error:
            self._fail(tenant, error)
            raise TryAgain from None
        self._tenants.remove_finalizer(tenant)
        self._claims.release(name)
        self._destroyed.discard(uid)
        log.info("tenant gone", tenant=name)
        return None

    def _fail(self, tenant: Manifest, error: StackError | ClusterError) -> None:
        if isinstance(error, ClusterError) and not error.is_refusal:
            raise error
        message = f"destroy failed ({error.reason}): {error}"
        status = terminating_status(tenant, "DestroyFailed", message)
        log.warning(
            "destroy failed", tenant=tenant["metadata"]["name"], reason=error.reason, problem=str(error)
        )
        if tenant.get("status") != status:
            record_event(self._cluster, tenant, WARNING, "DestroyFailed", message)
        self._tenants.write_status(tenant, status)

    def _crd_is_ending(self, tenant: Manifest) -> bool:
        """Whether all Tenants go because their kind goes: an accident or a reinstallation, nobody's wish to
        lose what runs in their namespaces. With the CRD back, the same Tenants take up where they were."""
        group = tenant["apiVersion"].partition("/")[0]
        return is_ending(self._cluster.get(CRD, crd_name(group)))

    def _leftovers(self, tenant: Manifest) -> list[str]:
        """The tenant's namespaces that are still there, by their label or by its status. One that state did
        not know of is deleted now."""
        name = tenant["metadata"]["name"]
        labelled, _ = self._cluster.list(NAMESPACE, f"{MANAGED_SELECTOR},{TENANT_LABEL}={name}")
        known = [self._cluster.get(NAMESPACE, namespace) for namespace in known_namespaces(tenant)]
        found = {namespace["metadata"]["name"]: namespace for namespace in (*labelled, *filter(None, known))}
        own = [
            namespace
            for namespace in found.values()
            if tenant_of(namespace) in ("", name) and self._claims.may_remove(name, object_key(namespace))
        ]
        for namespace in own:
            if not is_ending(namespace):
                self._cluster.delete(
                    NAMESPACE, namespace["metadata"]["name"], uid=namespace["metadata"]["uid"]
                )
        return [_progress(namespace) for namespace in own]


def _progress(namespace: Manifest) -> str:
    """The namespace's name and, where its own controller says so, what holds it."""
    conditions = (namespace.get("status") or {}).get("conditions") or []
    holding = [condition["message"] for condition in conditions if condition["status"] == "True"]
    name: str = namespace["metadata"]["name"]
    return f"{name} ({' '.join(holding)})" if holding else name
