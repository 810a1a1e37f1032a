"""Deletes a tenant.

The steps are:

1. End the tenant's AISessions.
2. Destroy the tenant's stack.
3. Wait until the tenant's namespaces are deleted.
4. Remove the finalizer.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.events import WARNING, record_event
from cluster.tenants import Tenants, live_namespaces
from stacks.errors import StackBusy, StackError
from stacks.stack import Stacks
from tenancy.base.backoff import END_SESSIONS
from tenancy.base.kinds import CRD, MANAGED_KINDS, NAMESPACE, Kind
from tenancy.base.manifest import Manifest, is_deleting, object_key
from tenancy.base.names import crd_name
from tenancy.base.reasons import Reason
from tenancy.reservations import Reservations
from tenancy.same_name_in_both_groups import has_finalizer
from tenancy.spec.tenant import DeletionPolicy
from watcher.reconciler.applied_loader import AppliedLoader, is_paused
from watcher.reconciler.drift_repair import Repairs
from watcher.reconciler.release import release_namespace, remove_objects
from watcher.reconciler.status import held_status, ready_verdict, terminating_status
from watcher.service import TryAgain
from watcher.sessions.deletion import delete_sessions

log = structlog.get_logger(__name__)

# The longest time until a waiting tenant is reconciled again. The deletion of a namespace queues the tenant
# earlier.
_LOOK_AGAIN_S: Final = 15.0
# The maximum number of AISessions that a message lists.
_NAMED: Final = 5


class Terminator:
    def __init__(
        self,
        cluster: Cluster,
        stacks: Stacks,
        tenants: Tenants,
        claims: Reservations,
        served: Callable[[], frozenset[Kind]],
        loader: AppliedLoader,
        repairs: Repairs,
    ) -> None:
        self._cluster = cluster
        self._served = served
        self._stacks = stacks
        self._tenants = tenants
        self._claims = claims
        self._loader = loader
        self._repairs = repairs
        self._destroyed: set[str] = set()
        # How often the watcher has waited for a tenant's AISessions, by the tenant's uid.
        self._session_waits: Counter[str] = Counter()

    def terminate(self, tenant: Manifest) -> float | None:
        """Reconcile a tenant that is being deleted.

        The spec is not parsed, because an invalid spec must not block the deletion. Returns the seconds until
        the next reconcile of the tenant, or None to wait for the next change. Raises TryAgain
        after a failure.
        """
        name, uid = tenant["metadata"]["name"], tenant["metadata"]["uid"]
        if not has_finalizer(tenant):
            return None  # No object was created for this tenant.
        try:
            if self._is_crd_deleted(tenant):
                log.warning("tenant not destroyed, because its CRD is being deleted", tenant=name)
                self._tenants.remove_finalizer(tenant)
                return None
            if uid not in self._destroyed:
                self._keep_applied(tenant)
                if hold := _hold(tenant):
                    self._tenants.write_status(tenant, self._held_status(tenant, *hold))
                    return None
                if running := self._end_sessions(tenant):
                    self._report_deleting(tenant, f"waiting for AISessions to end: {_few(running)}")
                    self._session_waits[uid] += 1
                    return END_SESSIONS.wait_s(self._session_waits[uid] - 1)
                del self._session_waits[uid]
                self._loader.forget(name)
                tenant = self._report_deleting(tenant, "destroying the stack")
                self._destroy(tenant)
                self._destroyed.add(uid)
            if leftovers := self._delete_leftovers(tenant):
                self._report_deleting(tenant, f"waiting for namespaces to be deleted: {'; '.join(leftovers)}")
                return _LOOK_AGAIN_S
        except (StackError, ClusterError) as error:
            self._fail(tenant, error)
            raise TryAgain from None
        self._tenants.remove_finalizer(tenant)
        self._claims.release(name)
        self._destroyed.discard(uid)
        log.info("tenant deleted", tenant=name)
        return None

    def _keep_applied(self, tenant: Manifest) -> None:
        """Repair drift until the destroy begins. If the tenant is paused, stop repairing its drift.

        If the reason of the condition Ready is Deleting or DestroyFailed, do not start repairs. In this case,
        the destroy has begun, or the repairs are already running.
        """
        has_begun = ready_verdict(tenant)[0] in (Reason.DELETING, Reason.DESTROY_FAILED)
        if is_paused(tenant) or not has_begun:
            self._repairs.keep(tenant)

    def _held_status(self, tenant: Manifest, reason: Reason, message: str) -> Manifest:
        name = tenant["metadata"]["name"]
        repaired = self._repairs.unrecorded_text(name)
        return held_status(tenant, reason, f"{message}{self._loader.problem_text(name)}", repaired)

    def _report_deleting(self, tenant: Manifest, message: str) -> Manifest:
        return self._tenants.write_status(tenant, terminating_status(tenant, Reason.DELETING, message))

    def _end_sessions(self, tenant: Manifest) -> list[str]:
        """End the tenant's AISessions. Returns the sessions and Jobs that must end before the destroy."""
        own = [namespace["metadata"]["name"] for namespace in self._own_namespaces(tenant)]
        return delete_sessions(self._cluster, own, tenant["metadata"]["deletionTimestamp"])

    def _destroy(self, tenant: Manifest) -> None:
        """Destroy the stack. With `deletionPolicy: Retain`, only remove the platform's objects and labels.

        Before, store the tenant's history, because the backend removes it together with the stack.
        """
        name = tenant["metadata"]["name"]
        self._stacks.histories.keep_deleted(tenant)
        if _is_retained(tenant):
            remove_objects(self._cluster, self._claims, name, (*MANAGED_KINDS, *self._served()))
            # Remove the stack before the namespaces are released. A released namespace may get another owner,
            # and this stack must not contain the namespace of another owner.
            self._stacks.forget(name)
            for namespace in self._own_namespaces(tenant):
                release_namespace(self._cluster, namespace)
        else:
            self._stacks.destroy(name, "tenant deleted")

    def _fail(self, tenant: Manifest, error: StackError | ClusterError) -> None:
        if isinstance(error, ClusterError) and not error.is_refusal:
            raise error
        message = f"destroy failed ({error.reason}): {error}"
        status = terminating_status(tenant, Reason.DESTROY_FAILED, message)
        log.warning(
            "destroy failed", tenant=tenant["metadata"]["name"], reason=error.reason, problem=str(error)
        )
        if tenant.get("status") != status:
            record_event(self._cluster, tenant, WARNING, Reason.DESTROY_FAILED, message)
        self._tenants.write_status(tenant, status)
        if isinstance(error, StackBusy):
            self._repairs.keep(tenant)  # The destroy has not begun, so drift is still repaired.

    def _is_crd_deleted(self, tenant: Manifest) -> bool:
        """Whether the Tenant is being deleted only because its CRD is being deleted.

        A CRD is usually deleted by accident or for a reinstallation. So the tenant's namespaces are kept.
        When the CRD and the Tenant are created again, the watcher manages these namespaces again.
        """
        group = tenant["apiVersion"].partition("/")[0]
        crd = self._cluster.get(CRD, crd_name(group))
        # If the CRD does not exist, the Tenant does not exist either, and the watcher's copy is outdated.
        return crd is None or is_deleting(crd)

    def _delete_leftovers(self, tenant: Manifest) -> list[str]:
        """Delete namespaces and cluster-scoped objects that the stack's state did not contain.

        Returns the namespaces that still exist.
        """
        name = tenant["metadata"]["name"]
        if _is_retained(tenant):
            return []
        cluster_scoped = [kind for kind in self._served() if not kind.is_namespaced]
        remove_objects(self._cluster, self._claims, name, cluster_scoped)
        own = self._own_namespaces(tenant)
        for namespace in own:
            if not is_deleting(namespace):
                self._cluster.delete(
                    NAMESPACE, namespace["metadata"]["name"], uid=namespace["metadata"]["uid"]
                )
        return [_progress(namespace) for namespace in own]

    def _own_namespaces(self, tenant: Manifest) -> list[Manifest]:
        """The tenant's namespaces.

        Users can forge labels. So `may_remove` checks whether each namespace really belongs to the tenant.
        """
        name = tenant["metadata"]["name"]
        return [
            namespace
            for namespace in live_namespaces(self._cluster, tenant).values()
            if self._claims.may_remove(name, object_key(namespace))
        ]


def _few(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _hold(tenant: Manifest) -> tuple[Reason, str] | None:
    """The reason and message why the tenant must not be destroyed yet. None if it may be destroyed.

    Does not parse the spec, because the spec may be invalid.
    """
    spec, status = tenant.get("spec") or {}, tenant.get("status") or {}
    if spec.get("protected", status.get("protected", False)) is True:
        return Reason.PROTECTED, "the tenant is protected; set spec.protected to false to delete it"
    if is_paused(tenant):
        return Reason.PAUSED, "the tenant is paused; set spec.paused to false to delete it"
    return None


def _is_retained(tenant: Manifest) -> bool:
    return bool((tenant.get("spec") or {}).get("deletionPolicy") == DeletionPolicy.RETAIN)


def _progress(namespace: Manifest) -> str:
    """The name of a terminating namespace, and the reasons why it is not deleted yet.

    The reasons are the messages of the namespace's conditions.
    """
    conditions = (namespace.get("status") or {}).get("conditions") or []
    holding = [condition["message"] for condition in conditions if condition["status"] == "True"]
    name: str = namespace["metadata"]["name"]
    return f"{name} ({' '.join(holding)})" if holding else name
