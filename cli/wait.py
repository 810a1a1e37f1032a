"""Waits until the watcher has reconciled tenants, and shows the progress of each tenant on standard error."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final

from rich.live import Live
from rich.table import Table
from rich.text import Text

from cli.output import PHASE_STYLES, error_console
from cluster.client import Cluster
from cluster.informer import Informer
from stacks.errors import BackendUnreachable, ClusterUnreachable, StackBusy
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import Kind, kind_of
from tenancy.base.manifest import Manifest, is_deleting, object_key
from tenancy.spec.tenant_status import ConditionType, Phase

# The phase that this module reports for a tenant that was deleted during the wait.
GONE: Final = "Gone"
# The reasons of failures that need no action by the user, because the watcher retries.
_TRANSIENT_REASONS: Final = {error.reason for error in (StackBusy, ClusterUnreachable, BackendUnreachable)}


class NotSettled(TenancyError):
    """The timeout expired before all tenants were settled. See `is_settled`."""

    reason = "NotSettled"


@dataclass(frozen=True)
class SettledTenant:
    tenant: Manifest
    took_s: float


def wait_until_settled(cluster: Cluster, tenants: Sequence[Manifest], timeout_s: float) -> list[Manifest]:
    """Wait until all tenants are settled, and return them in the given order. See `is_settled`.

    If a tenant is deleted during the wait, the result contains its manifest from `tenants` with the phase
    Gone. Raises NotSettled if a tenant is not settled after `timeout_s` seconds.
    """
    return [settled.tenant for settled in wait_and_time(cluster, tenants, timeout_s)]


def wait_and_time(cluster: Cluster, tenants: Sequence[Manifest], timeout_s: float) -> list[SettledTenant]:
    """Like `wait_until_settled`, but also return how many seconds each tenant took."""
    wait = _Wait(cluster, tenants, timeout_s)
    try:
        with wait.progress():
            return wait.run()
    finally:
        wait.stop()


def phase_of(tenant: Manifest) -> str:
    return str((tenant.get("status") or {}).get("phase", Phase.PENDING))


def ready_condition(tenant: Manifest) -> Manifest:
    """The Ready condition in the status of the Tenant.

    If the watcher has not written the condition yet, the result is a substitute with the reason NotSeen.
    """
    conditions: list[Manifest] = (tenant.get("status") or {}).get("conditions") or []
    not_seen = {
        "reason": "NotSeen",
        "message": "no watcher has reconciled the tenant yet; run `tenancy doctor` to find out why",
    }
    return next((condition for condition in conditions if condition["type"] == ConditionType.READY), not_seen)


def reason_text(tenant: Manifest) -> str:
    """The reason and the message of the Ready condition."""
    ready = ready_condition(tenant)
    return ": ".join(part for part in (ready["reason"], ready.get("message", "")) if part)


def is_status_current(tenant: Manifest) -> bool:
    """Whether the status describes the newest generation of the spec."""
    status = tenant.get("status") or {}
    return bool(status.get("observedGeneration") == tenant["metadata"]["generation"])


def is_settled(tenant: Manifest) -> bool:
    """Whether the watcher has finished its work on the newest spec.

    The tenant is then Active, paused or permanently failed. The user must fix the cause of a permanent
    failure. A tenant that was deleted during the wait is settled too.
    """
    phase, reason = phase_of(tenant), ready_condition(tenant)["reason"]
    if phase == GONE:
        return True
    if not is_status_current(tenant) or is_deleting(tenant):
        return False
    if tenant["spec"].get("paused") and phase != Phase.FAILED:
        return bool(reason == "Paused")
    return phase == Phase.ACTIVE or (phase == Phase.FAILED and reason not in _TRANSIENT_REASONS)


class _Wait:
    """One wait. It watches the Tenants with informers, and records which tenants are already settled."""

    def __init__(self, cluster: Cluster, tenants: Sequence[Manifest], timeout_s: float) -> None:
        self._tenants = list(tenants)
        self._timeout_s = timeout_s
        self._started_s = time.monotonic()
        self._events: SimpleQueue[None] = SimpleQueue()
        self._informers: dict[Kind, Informer] = {
            kind: Informer(cluster, kind, lambda *_: self._events.put(None))
            for kind in dict.fromkeys(map(kind_of, tenants))
        }
        # The key is the index in `_tenants`.
        self._settled: dict[int, SettledTenant] = {}
        for informer in self._informers.values():
            informer.start()

    def stop(self) -> None:
        for informer in self._informers.values():
            informer.stop()

    def run(self) -> list[SettledTenant]:
        for informer in self._informers.values():
            informer.is_synced.wait(self._remaining_s())
        while True:
            self._record_settled()
            if len(self._settled) == len(self._tenants):
                return [self._settled[index] for index in range(len(self._tenants))]
            try:
                self._events.get(timeout=self._remaining_s())
            except Empty:
                raise NotSettled(self._timeout_message()) from None

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Show the progress in a table on standard error until the `with` block ends.

        If standard error is not a terminal, there is no table. Instead, `_record_settled` prints a line when
        a tenant is settled.
        """
        if not error_console.is_terminal:
            yield
            return
        with Live(get_renderable=self._table, console=error_console, refresh_per_second=5, transient=True):
            yield

    def _record_settled(self) -> None:
        for index, initial in enumerate(self._tenants):
            tenant = self._latest(initial)
            if index in self._settled or not is_settled(tenant):
                continue
            took_s = self._elapsed_s()
            self._settled[index] = SettledTenant(tenant, took_s)
            if not error_console.is_terminal:
                phase = phase_of(tenant)
                is_expected = phase == Phase.ACTIVE or is_deleting(initial)
                reason = "" if is_expected else f"  {reason_text(tenant)}"
                error_console.print(Text(f"{tenant['metadata']['name']}  {phase}  {took_s:.1f} s{reason}"))

    def _latest(self, initial: Manifest) -> Manifest:
        informer = self._informers[kind_of(initial)]
        live = informer.get(object_key(initial))
        if live or not informer.is_synced.is_set():
            return live or initial
        gone = {
            "type": ConditionType.READY,
            "reason": GONE,
            "message": "the tenant was deleted during the wait",
        }
        return {**initial, "status": {**initial.get("status", {}), "phase": GONE, "conditions": [gone]}}

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
        for index, initial in enumerate(self._tenants):
            current = self._settled.get(index) or SettledTenant(self._latest(initial), self._elapsed_s())
            tenant = current.tenant
            phase, reason = phase_of(tenant), ready_condition(tenant)["reason"]
            if not is_status_current(tenant) and phase != GONE:
                phase, reason = Phase.PENDING, "Waiting"
            table.add_row(
                tenant["metadata"]["name"],
                Text(phase, style=PHASE_STYLES.get(phase, "")),
                Text(reason),
                f"{current.took_s:.1f} s",
            )
        return table

    def _timeout_message(self) -> str:
        pending = [
            self._latest(initial) for index, initial in enumerate(self._tenants) if index not in self._settled
        ]
        lines = [f"  {tenant['metadata']['name']}: {_pending_reason(tenant)}" for tenant in pending]
        return "\n".join([f"timed out after {self._timeout_s:g} s waiting for:", *lines])

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def _remaining_s(self) -> float:
        return max(0.0, self._timeout_s - self._elapsed_s())


def _pending_reason(tenant: Manifest) -> str:
    if is_status_current(tenant) or "status" not in tenant:
        return f"{phase_of(tenant)}, {reason_text(tenant)}"
    observed, generation = tenant["status"].get("observedGeneration"), tenant["metadata"]["generation"]
    return (
        f"the watcher has not observed generation {generation} yet, but only generation {observed} "
        f"({phase_of(tenant)}, {reason_text(tenant)}); "
        "run `tenancy doctor` to check whether the watcher runs"
    )
