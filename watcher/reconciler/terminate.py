"""The end of a tenant: end its sessions, destroy its stack, see that nothing is left, and let it go."""

import time
from collections.abc import Callable
from typing import Final

import structlog

from cluster.client import Cluster, ClusterError
from cluster.events import WARNING, record_event
from cluster.live_objects import is_ending
from cluster.tenants import Tenants, has_finalizer, live_namespaces
from stacks.errors import StackBusy, StackError
from stacks.stack import Stacks
from tenancy.base.kinds import CRD, MANAGED_KINDS, NAMESPACE, Kind
from tenancy.base.manifest import Manifest, object_key
from tenancy.base.names import crd_name
from tenancy.spec.tenant import DeletionPolicy
from watcher.reconciler.applied_loader import AppliedLoader, is_paused
from watcher.reconciler.claims import Claims
from watcher.reconciler.release import release_namespace, remove_objects
from watcher.reconciler.repairs import Repairs
from watcher.reconciler.retry import TryAgain
from watcher.reconciler.status import ready_verdict, terminating_status
from watcher.sessions.deletion import delete_sessions

log = structlog.get_logger(__name__)

# A namespace's end wakes the tenant; this is for one that does not come to its end.
_LOOK_AGAIN_S: Final = 15.0
# Pods end within their grace time. Where something holds them, looks become rare: each is two requests for
# every namespace.
_SESSIONS_S: Final = 0.5
_SESSIONS_SHARE: Final = 0.1
# How many of what is waited for a status names.
_NAMED: Final = 5


class Terminator:
    def __init__(
        self,
        cluster: Cluster,
        stacks: Stacks,
        tenants: Tenants,
        claims: Claims,
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
        # Since when the ends of their sessions are waited for, by the tenants' uids.
        self._waiting_since_s: dict[str, float] = {}

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
                self._keep_applied(tenant)
                if held := _held(tenant):
                    self._tenants.write_status(tenant, self._status(tenant, *held))
                    return None
                if running := self._end_sessions(tenant):
                    waiting = f"waiting for the end of {_few(running)}"
                    self._tenants.write_status(tenant, terminating_status(tenant, "Deleting", waiting))
                    return self._patience_s(uid)
                self._waiting_since_s.pop(uid, None)
                self._loader.forget(name)
                destroying = terminating_status(tenant, "Deleting", "destroying the stack")
                tenant = self._tenants.write_status(tenant, destroying)
                self._end(tenant)
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

    def _keep_applied(self, tenant: Manifest) -> None:
        """Have the objects kept until the destroy begins, unless the tenant is paused.

        A status that says so is of an earlier turn: either they are kept already, or it has begun.
        """
        name = tenant["metadata"]["name"]
        if is_paused(tenant):
            self._loader.forget(name)
        elif ready_verdict(tenant)[0] not in ("Deleting", "DestroyFailed"):
            self._loader.want(tenant)
            self._repairs.check(name)

    def _status(self, tenant: Manifest, reason: str, message: str) -> Manifest:
        name = tenant["metadata"]["name"]
        repaired = self._repairs.unrecorded_text(name)
        return terminating_status(tenant, reason, f"{message}{self._loader.problem_text(name)}", repaired)

    def _end_sessions(self, tenant: Manifest) -> list[str]:
        """What of them is still there."""
        own = [namespace["metadata"]["name"] for namespace in self._own_namespaces(tenant)]
        return delete_sessions(self._cluster, own, tenant["metadata"]["deletionTimestamp"])

    def _patience_s(self, uid: str) -> float:
        """How soon to look again at what is waited for: the longer it takes, the later."""
        now_s = time.monotonic()
        waited_s = now_s - self._waiting_since_s.setdefault(uid, now_s)
        return min(max(_SESSIONS_S, waited_s * _SESSIONS_SHARE), _LOOK_AGAIN_S)

    def _end(self, tenant: Manifest) -> None:
        """Destroys the stack; or, where the namespaces are to stay, takes all that is ours out of them."""
        name = tenant["metadata"]["name"]
        if _is_retained(tenant):
            remove_objects(self._cluster, self._claims, name, (*MANAGED_KINDS, *self._served()))
            # First: once released, a namespace may be anybody's, and no stack must have it any more.
            self._stacks.forget(name)
            for namespace in self._own_namespaces(tenant):
                release_namespace(self._cluster, namespace)
        else:
            self._stacks.destroy(name, "tenant deleted")

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
        if isinstance(error, StackBusy):
            self._loader.want(tenant)  # The destroy has not begun.
            self._repairs.check(tenant["metadata"]["name"])

    def _crd_is_ending(self, tenant: Manifest) -> bool:
        """Whether all Tenants go because their kind goes: an accident or a reinstallation, nobody's wish to
        lose what runs in their namespaces. With the CRD back, the same Tenants take up where they were."""
        group = tenant["apiVersion"].partition("/")[0]
        crd = self._cluster.get(CRD, crd_name(group))
        # With the CRD gone, the Tenant is too, and our copy of it is out of date.
        return crd is None or is_ending(crd)

    def _leftovers(self, tenant: Manifest) -> list[str]:
        """What of the tenant is still there: namespaces, and objects outside of any. Those that state did
        not know of are deleted now."""
        name = tenant["metadata"]["name"]
        if _is_retained(tenant):
            return []
        scattered = [kind for kind in self._served() if not kind.is_namespaced]
        remove_objects(self._cluster, self._claims, name, scattered)
        own = self._own_namespaces(tenant)
        for namespace in own:
            if not is_ending(namespace):
                self._cluster.delete(
                    NAMESPACE, namespace["metadata"]["name"], uid=namespace["metadata"]["uid"]
                )
        return [_progress(namespace) for namespace in own]

    def _own_namespaces(self, tenant: Manifest) -> list[Manifest]:
        """Those that are really its own: a label alone can be forged."""
        name = tenant["metadata"]["name"]
        return [
            namespace
            for namespace in live_namespaces(self._cluster, tenant).values()
            if self._claims.may_remove(name, object_key(namespace))
        ]


def _few(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _held(tenant: Manifest) -> tuple[str, str] | None:
    """Why the tenant must not go yet, if so: a reason and a sentence. Its spec may be bad, so it is read as
    plain data."""
    spec, status = tenant.get("spec") or {}, tenant.get("status") or {}
    if spec.get("protected", status.get("protected", False)) is True:
        return "Protected", "the tenant is protected; set spec.protected to false to let it go"
    if is_paused(tenant):
        return "Paused", "the tenant is paused; set spec.paused to false to let it go"
    return None


def _is_retained(tenant: Manifest) -> bool:
    return bool((tenant.get("spec") or {}).get("deletionPolicy") == DeletionPolicy.RETAIN)


def _progress(namespace: Manifest) -> str:
    """The namespace's name and, where its own controller says so, what holds it."""
    conditions = (namespace.get("status") or {}).get("conditions") or []
    holding = [condition["message"] for condition in conditions if condition["status"] == "True"]
    name: str = namespace["metadata"]["name"]
    return f"{name} ({' '.join(holding)})" if holding else name
