"""Loads the last applied objects of each tenant from the tenant's Pulumi stack.

The watcher compares these objects with the live objects to detect drift. It must load them in two cases:

- The watcher has restarted.
- A Pulumi update has failed before it was complete.

A separate thread reads the stack's history and state. So the workers do not wait if the state backend does
not answer.
"""

from collections.abc import Callable

import structlog

from cluster.tenants import Tenants
from stacks.applied_objects import desired_from_spec, read_applied, read_half_done
from stacks.errors import StackError
from stacks.stack import Stacks
from tenancy.base.backoff import LOAD_APPLIED
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.decision import Facts
from tenancy.plans import Plans
from watcher.queue import TenantQueue
from watcher.reconciler.last_applied import Applied, LastApplied
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
        """Compute the last applied objects from the Tenant's spec, without reading the state backend.

        This works only if the spec is applied. Otherwise, returns False and changes nothing.
        """
        name, status = manifest["metadata"]["name"], manifest.get("status") or {}
        desired = desired_from_spec(name, manifest.get("spec") or {}, self._facts())
        if desired is None or desired.digest != status.get("appliedDigest"):
            return False
        known = self._applied.get(name)
        loaded = Applied(desired.by_key, has_budget=desired.has_budget, is_paused=is_paused(manifest))
        return self._applied.exchange(name, known, loaded)

    def load_from_specs(self) -> list[str]:
        """Call `load_from_spec` for all tenants. Returns the names of the tenants for which it succeeded."""
        loaded: list[str] = []
        for name in self._tenants.names():
            for manifest in self._tenants.named(name)[:1]:
                try:
                    if not is_deleting(manifest) and self.load_from_spec(manifest):
                        loaded.append(name)
                except Exception:
                    # An older CRD may have accepted a spec that this version cannot read. The watcher must
                    # start nevertheless.
                    log.exception("spec not read", tenant=name)
        return loaded

    def want(self, manifest: Manifest) -> None:
        """Load a tenant's last applied objects in the background, if they are not known yet.

        If `spec.paused` is true, also stop the repairs of the tenant's drift. Otherwise, allow them again.
        Waits until a running repair has ended.
        """
        name = manifest["metadata"]["name"]
        known = self._applied.set_paused(name, is_paused(manifest))
        if known.is_known or self.load_from_spec(manifest):
            return
        self._wanted.add(name)
        self._queue.add(name)

    def problem(self, tenant: str) -> str:
        """The error of the last attempt to load the tenant's last applied objects. Empty if it succeeded."""
        return self._problems.get(tenant, "")

    def problem_text(self, tenant: str) -> str:
        """The result of `problem` as a text to append to a status message. Empty if there is no problem."""
        problem = self.problem(tenant)
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
        if self._applied.exchange(tenant, known, self._read(manifests[0], known)):
            # Remove the problem before `on_loaded` queues the tenant. Otherwise the status would still report
            # the problem.
            self._problems.pop(tenant, None)
            self._on_loaded(tenant)

    def _read(self, manifest: Manifest, known: Applied | None) -> Applied:
        if known and known.is_half_done:
            state = read_half_done(self._stacks, manifest, self._facts(), known.objects, known.next_objects)
        else:
            state = read_applied(self._stacks, manifest, self._facts())
        is_paused = known is not None and known.is_paused
        return Applied(state.by_key, has_budget=state.has_budget, is_paused=is_paused)

    def _facts(self) -> Facts:
        return Facts(self._plans(), self._served())


def is_paused(manifest: Manifest) -> bool:
    """Whether `spec.paused` is true. Reads only this field, because the rest of the spec may be invalid."""
    return (manifest.get("spec") or {}).get("paused") is True
