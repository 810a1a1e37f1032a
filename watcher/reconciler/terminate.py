"""Deletes a tenant.

The steps are:

1. Delete the RoleBindings in the tenant's namespaces, so that users of the tenant cannot block the deletion.
2. End the tenant's AISessions.
3. Destroy the tenant's stack.
4. Wait until the tenant's namespaces are deleted.
5. Remove the finalizer.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.events import WARNING, record_event
from cluster.tenants import Tenants, live_namespaces
from stacks.errors import StackError
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
from watcher.reconciler.removal.access import delete_bindings
from watcher.reconciler.removal.progress import few, longest_wait_s, namespaces_text
from watcher.reconciler.status import held_status, ready_verdict, terminating_status
from watcher.service import TryAgain
from watcher.sessions.deletion import delete_sessions

log = structlog.get_logger(__name__)

# A tenant that waits for the deletion of its namespaces is reconciled again after this time, or earlier if
# one of the namespaces is deleted.
_LOOK_AGAIN_S: Final = 15.0
# The reasons of the condition Ready after the deletion of the tenant's objects has begun.
_BEGUN: Final = (Reason.DELETING, Reason.DELETION_BLOCKED, Reason.DESTROY_FAILED)


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
        blocked_after_s: float,
    ) -> None:
        """If a namespace is still terminating after `blocked_after_s` seconds, the status reports why."""
        self._cluster = cluster
        self._served = served
        self._stacks = stacks
        self._tenants = tenants
        self._claims = claims
        self._loader = loader
        self._repairs = repairs
        self._blocked_after_s = blocked_after_s
        self._destroyed: set[str] = set()
        # How often the watcher has waited for a tenant's AISessions, by the tenant's uid.
        self._session_waits: Counter[str] = Counter()

    def terminate(self, tenant: Manifest) -> float | None:
        """Reconcile a tenant that is being deleted.

        The spec is not parsed, because an invalid spec must not block the deletion. Returns the seconds until
        the next reconcile of the tenant, or None to wait for the next change. If a step fails, reports the
        error in the status and raises TryAgain.
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
                if hold := _hold(tenant):
                    self._keep_applied(tenant)
                    self._tenants.write_status(tenant, self._held_status(tenant, *hold))
                    return None
                self._loader.forget(name)  # From now on, a repair must not restore a RoleBinding.
                self._remove_access(tenant)
                if running := self._end_sessions(tenant):
                    self._report_deleting(tenant, f"waiting for AISessions to end: {few(running)}")
                    self._session_waits[uid] += 1
                    return END_SESSIONS.wait_s(self._session_waits[uid] - 1)
                del self._session_waits[uid]
                tenant = self._report_deleting(tenant, "destroying the stack")
                self._destroy(tenant)
                self._destroyed.add(uid)
            if leftovers := self._delete_leftovers(tenant):
                return self._report_leftovers(tenant, leftovers)
        except (StackError, ClusterError) as error:
            self._fail(tenant, error)
            raise TryAgain from None
        self._tenants.remove_finalizer(tenant)
        self._claims.release(name)
        self._destroyed.discard(uid)
        log.info("tenant deleted", tenant=name)
        return None

    def _keep_applied(self, tenant: Manifest) -> None:
        """Repair the drift of a tenant that must not be destroyed yet. If it is paused, stop the repairs.

        Do not start repairs if the watcher may have begun to delete the tenant's objects.
        """
        has_begun = ready_verdict(tenant)[0] in _BEGUN
        if is_paused(tenant) or not has_begun:
            self._repairs.keep(tenant)

    def _held_status(self, tenant: Manifest, reason: Reason, message: str) -> Manifest:
        name = tenant["metadata"]["name"]
        repaired = self._repairs.unrecorded_text(name)
        return held_status(tenant, reason, f"{message}{self._loader.problem_text(name)}", repaired)

    def _report_deleting(self, tenant: Manifest, message: str) -> Manifest:
        return self._tenants.write_status(tenant, terminating_status(tenant, Reason.DELETING, message))

    def _report_leftovers(self, tenant: Manifest, namespaces: list[Manifest]) -> float:
        """Report the namespaces that still exist. Returns the seconds until the next reconcile."""
        text = namespaces_text(namespaces)
        left_s = self._blocked_after_s - longest_wait_s(namespaces)
        if left_s > 0:
            self._report_deleting(tenant, f"waiting for namespaces to be deleted: {text}")
            return min(left_s, _LOOK_AGAIN_S)
        message = f"objects block the deletion of namespaces: {text}; to remove them, run: tenancy doctor"
        if ready_verdict(tenant) != (Reason.DELETION_BLOCKED, message):
            record_event(self._cluster, tenant, WARNING, Reason.DELETION_BLOCKED, message)
        self._tenants.write_status(tenant, terminating_status(tenant, Reason.DELETION_BLOCKED, message))
        return _LOOK_AGAIN_S

    def _remove_access(self, tenant: Manifest) -> None:
        """Delete all RoleBindings in the tenant's namespaces.

        With `deletionPolicy: Retain`, delete only RoleBindings that the platform manages.
        """
        own = [namespace["metadata"]["name"] for namespace in self._own_namespaces(tenant)]
        delete_bindings(self._cluster, own, is_managed_only=_is_retained(tenant))

    def _end_sessions(self, tenant: Manifest) -> list[str]:
        """Delete the tenant's AISessions. Returns the sessions and Jobs to wait for before `_destroy`."""
        own = [namespace["metadata"]["name"] for namespace in self._own_namespaces(tenant)]
        return delete_sessions(self._cluster, own, tenant["metadata"]["deletionTimestamp"])

    def _destroy(self, tenant: Manifest) -> None:
        """Destroy the Pulumi stack. With `deletionPolicy: Retain`, keep the tenant's namespaces.

        Namespaces that are kept lose the platform's objects and labels. Before the stack is removed, store a
        copy of its history, because the state backend removes the history together with the stack.
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

    def _is_crd_deleted(self, tenant: Manifest) -> bool:
        """Whether the Tenant is being deleted only because its CRD is being deleted.

        A CRD is usually deleted by accident or for a reinstallation. So the tenant's namespaces are kept.
        When the CRD and the Tenant are created again, the watcher manages these namespaces again.
        """
        group = tenant["apiVersion"].partition("/")[0]
        crd = self._cluster.get(CRD, crd_name(group))
        # If the CRD does not exist, the Tenant does not exist either, and the watcher's copy is outdated.
        return crd is None or is_deleting(crd)

    def _delete_leftovers(self, tenant: Manifest) -> list[Manifest]:
        """Delete the tenant's namespaces and cluster-scoped objects that still exist after `_destroy`.

        Returns the namespaces that Kubernetes has not deleted yet. Empty if `deletionPolicy` is `Retain`.
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
        return own

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


def _hold(tenant: Manifest) -> tuple[Reason, str] | None:
    """Why the tenant must not be destroyed yet, as a reason and a message. None if it may be destroyed.

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
