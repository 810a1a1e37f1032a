"""Loads the last applied objects of each tenant from the tenant's stack.

The watcher compares these objects with the live objects to detect drift. It loads the last applied objects
after a restart, and after an update that failed half way. A separate thread reads the stack's history and
state. So the workers do not have to wait if the backend does not answer.
"""

from collections.abc import Callable

import structlog

from cluster.tenants import Tenants
from stacks.errors import StackError, StackNotFound
from stacks.history import Update
from stacks.stack import Stacks
from tenancy.base.backoff import LOAD_APPLIED
from tenancy.base.errors import Rejection
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest, Objects, object_key
from tenancy.decision import Facts, decide
from tenancy.desired import DesiredState
from tenancy.plans import Plans
from watcher.queue import TenantQueue
from watcher.reconciler.last_applied import Applied, LastApplied, half_done_objects
from watcher.service import QueueWorkers, TryAgain

log = structlog.get_logger(__name__)


class AppliedLoader:
    """Loads the last applied objects of tenants.

    Calls `on_loaded` with the tenant's name after each success. After a failure, calls `on_loaded` only if
    the error differs from the previous error of this tenant.
    """

    def __init__(
        self,
        stacks: Stacks,
        tenants: Tenants,
        applied: LastApplied,
        plans: Callable[[], Plans],
        served: Callable[[], frozenset[Kind]],
        on_loaded: Callable[[str], None],
    ) -> None:
        self._stacks = stacks
        self._tenants = tenants
        self._applied = applied
        self._plans = plans
        self._served = served
        self._on_loaded = on_loaded
        self._queue = TenantQueue(LOAD_APPLIED)
        self.workers = QueueWorkers("last applied objects", self._queue, self._load_or_report)
        self._wanted: set[str] = set()
        self._problems: dict[str, str] = {}

    def load_from_spec(self, manifest: Manifest) -> bool:
        """Compute the last applied objects from the Tenant's spec, without reading the backend.

        Returns False and changes nothing if this spec is not applied yet, or if the tenant is paused.
        """
        name, status = manifest["metadata"]["name"], manifest.get("status") or {}
        desired = self._desired(name, manifest["spec"])
        if desired is None or desired.digest != status.get("appliedDigest") or is_paused(manifest):
            return False
        known = self._applied.get(name)
        return self._applied.exchange(name, known, Applied(desired.by_key, has_budget=desired.has_budget))

    def want(self, manifest: Manifest) -> None:
        """Load a tenant's last applied objects in the background.

        Does nothing if these objects are already known, or if the tenant is paused.
        """
        name = manifest["metadata"]["name"]
        known = self._applied.get(name)
        if is_paused(manifest) or (known and known.is_known) or self.load_from_spec(manifest):
            return
        self._wanted.add(name)
        self._queue.add(name)

    def problem_text(self, tenant: str) -> str:
        """A text to append to a message: the reason why drift is not repaired. Empty if drift is repaired."""
        problem = self._problems.get(tenant)
        return (
            f"; drift is not repaired: the last applied objects cannot be read: {problem}" if problem else ""
        )

    def forget(self, tenant: str) -> None:
        """Stop loading and repairing a tenant's objects. Waits until a running repair has ended."""
        self._wanted.discard(tenant)
        self._problems.pop(tenant, None)
        self._applied.forget(tenant)

    def _load_or_report(self, tenant: str) -> None:
        """Load a tenant's last applied objects. After an error, store the error text and raise TryAgain."""
        try:
            self._load(tenant)
        except (StackError, ValueError) as error:
            if self._problems.get(tenant) != str(error):
                log.warning("last applied objects not read", tenant=tenant, problem=str(error))
                self._problems[tenant] = str(error)
                self._on_loaded(tenant)
            raise TryAgain from None
        self._problems.pop(tenant, None)

    def _load(self, tenant: str) -> None:
        known = self._applied.get(tenant)
        manifests = self._tenants.named(tenant)
        if tenant not in self._wanted or not manifests or (known and known.is_known):
            return
        digest = (manifests[0].get("status") or {}).get("appliedDigest")
        if digest and not (known and known.is_half_done):
            loaded = self._from_history(tenant, digest) or Applied(self._state(tenant))
        else:
            loaded = self._half_done(tenant, known, manifests[0]["spec"])
        if self._applied.exchange(tenant, known, loaded):
            # Remove the problem before `on_loaded` queues the tenant. Otherwise the status would still report
            # the problem.
            self._problems.pop(tenant, None)
            self._on_loaded(tenant)

    def _from_history(self, tenant: str, digest: str) -> Applied | None:
        for update in self._updates(tenant):
            desired = self._desired(tenant, update.record.spec) if update.record else None
            if desired and desired.digest == digest:
                return Applied(desired.by_key, has_budget=desired.has_budget)
        return None

    def _half_done(self, tenant: str, known: Applied | None, spec: Manifest) -> Applied:
        """The objects that are applied after an update has failed half way.

        After a restart, `known` is None. In this case, the objects from before the update come from the
        stack's history, and the objects that the update should have applied come from `spec`.
        """
        before, after = (known.objects, known.next_objects) if known else (None, None)
        if before is None:
            newest = next((update for update in self._updates(tenant) if update.result == "succeeded"), None)
            succeeded = self._desired(tenant, newest.record.spec) if newest and newest.record else None
            before = succeeded.by_key if succeeded else None
        if after is None:
            desired = self._desired(tenant, spec)
            after = desired.by_key if desired else None
        return Applied(half_done_objects(self._state(tenant), before, after))

    def _updates(self, tenant: str) -> list[Update]:
        try:
            return self._stacks.history(tenant)
        except StackError:
            return []  # The stack's state may still be readable.

    def _state(self, tenant: str) -> Objects:
        """The objects in the stack's state."""
        try:
            manifests = self._stacks.objects(tenant)
        except StackNotFound:
            if self._was_applied(tenant):
                raise
            manifests = []
        return {object_key(manifest): manifest for manifest in manifests}

    def _was_applied(self, tenant: str) -> bool:
        manifests = self._tenants.named(tenant)
        return any("lastUpdate" in (manifest.get("status") or {}) for manifest in manifests)

    def _desired(self, name: str, spec: Manifest) -> DesiredState | None:
        """The desired state of a spec. None if the spec is rejected."""
        manifest = {"metadata": {"name": name}, "spec": spec}
        try:
            return decide(manifest, Facts(self._plans(), self._served())).desired
        except Rejection:
            return None


def is_paused(manifest: Manifest) -> bool:
    """Whether `spec.paused` is true. Reads only this field, because the rest of the spec may be invalid."""
    return (manifest.get("spec") or {}).get("paused") is True
