"""Waits until tenants are what their specs say, and shows how far each one is.

Called by commands that have written Tenants. It only watches: what is wrong is told, never mended.
"""

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
from tenancy.base.manifest import Manifest, object_key
from tenancy.spec.tenant_status import ConditionType, Phase

# The phase of a tenant that was deleted while it was waited for.
GONE: Final = "Gone"
# Failures that pass without anybody's doing: the watcher tries again.
_PASSING: Final = {error.reason for error in (StackBusy, ClusterUnreachable, BackendUnreachable)}


class NotSettled(TenancyError):
    reason = "NotSettled"


@dataclass(frozen=True)
class SettledTenant:
    tenant: Manifest
    took_s: float


def wait_until_settled(cluster: Cluster, tenants: Sequence[Manifest], timeout_s: float) -> list[Manifest]:
    """The tenants, in this order, once each is Active as its newest spec says, has failed, or is paused.

    One that is deleted meanwhile comes back as it was last, with the phase Gone.
    """
    return [settled.tenant for settled in wait_and_time(cluster, tenants, timeout_s)]


def wait_and_time(cluster: Cluster, tenants: Sequence[Manifest], timeout_s: float) -> list[SettledTenant]:
    """The same, with how long each took."""
    wait = _Wait(cluster, tenants, timeout_s)
    try:
        with wait.shown():
            return wait.finish()
    finally:
        wait.stop()


def phase_of(tenant: Manifest) -> str:
    return str((tenant.get("status") or {}).get("phase", Phase.PENDING))


def ready_condition(tenant: Manifest) -> Manifest:
    """Its Ready condition; where it has none, what that says of the watcher."""
    conditions: list[Manifest] = (tenant.get("status") or {}).get("conditions") or []
    unseen = {"reason": "NotSeen", "message": "no watcher has looked at it; `tenancy doctor` says why"}
    return next((found for found in conditions if found["type"] == ConditionType.READY), unseen)


def reason_text(tenant: Manifest) -> str:
    ready = ready_condition(tenant)
    return ": ".join(part for part in (ready["reason"], ready.get("message", "")) if part)


def is_status_current(tenant: Manifest) -> bool:
    """Whether the status is about the newest spec."""
    status = tenant.get("status") or {}
    return bool(status.get("observedGeneration") == tenant["metadata"]["generation"])


def is_settled(tenant: Manifest) -> bool:
    phase, reason = phase_of(tenant), ready_condition(tenant)["reason"]
    if phase == GONE:
        return True
    if not is_status_current(tenant) or "deletionTimestamp" in tenant["metadata"]:
        return False
    if tenant["spec"].get("paused"):
        return bool(reason == "Paused")
    return phase == Phase.ACTIVE or (phase == Phase.FAILED and reason not in _PASSING)


class _Wait:
    """One wait: the newest known of each tenant, and what has come to its end."""

    def __init__(self, cluster: Cluster, tenants: Sequence[Manifest], timeout_s: float) -> None:
        self._tenants = list(tenants)
        self._timeout_s = timeout_s
        self._started_s = time.monotonic()
        self._news: SimpleQueue[None] = SimpleQueue()
        self._informers: dict[Kind, Informer] = {
            kind: Informer(cluster, kind, lambda *_: self._news.put(None))
            for kind in dict.fromkeys(map(kind_of, tenants))
        }
        # By their place in the order given.
        self._settled: dict[int, SettledTenant] = {}
        for informer in self._informers.values():
            informer.start()

    def stop(self) -> None:
        for informer in self._informers.values():
            informer.stop()

    def finish(self) -> list[SettledTenant]:
        for informer in self._informers.values():
            informer.is_synced.wait(self._left_s())
        while True:
            self._look()
            if len(self._settled) == len(self._tenants):
                return [self._settled[place] for place in range(len(self._tenants))]
            try:
                self._news.get(timeout=self._left_s())
            except Empty:
                raise NotSettled(self._late_text()) from None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """On a terminal, a line per tenant that moves. Elsewhere, `_look` writes a line when one is done."""
        if not error_console.is_terminal:
            yield
            return
        with Live(get_renderable=self._table, console=error_console, refresh_per_second=5, transient=True):
            yield

    def _look(self) -> None:
        for place, given in enumerate(self._tenants):
            tenant = self._latest(given)
            if place in self._settled or not is_settled(tenant):
                continue
            took_s = self._elapsed_s()
            self._settled[place] = SettledTenant(tenant, took_s)
            if not error_console.is_terminal:
                phase = phase_of(tenant)
                told = "" if phase == Phase.ACTIVE else f"  {reason_text(tenant)}"
                error_console.print(Text(f"{tenant['metadata']['name']}  {phase}  {took_s:.1f} s{told}"))

    def _latest(self, given: Manifest) -> Manifest:
        informer = self._informers[kind_of(given)]
        found = informer.get(object_key(given))
        if found or not informer.is_synced.is_set():
            return found or given
        gone = {"type": ConditionType.READY, "reason": GONE, "message": "the tenant was deleted meanwhile"}
        return {**given, "status": {**given.get("status", {}), "phase": GONE, "conditions": [gone]}}

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
        for place, given in enumerate(self._tenants):
            shown = self._settled.get(place) or SettledTenant(self._latest(given), self._elapsed_s())
            tenant = shown.tenant
            phase, reason = phase_of(tenant), ready_condition(tenant)["reason"]
            if not is_status_current(tenant) and phase != GONE:
                phase, reason = Phase.PENDING, "Waiting"
            table.add_row(
                tenant["metadata"]["name"],
                Text(phase, style=PHASE_STYLES.get(phase, "")),
                Text(reason),
                f"{shown.took_s:.1f} s",
            )
        return table

    def _late_text(self) -> str:
        late = [
            self._latest(given) for place, given in enumerate(self._tenants) if place not in self._settled
        ]
        lines = [f"  {tenant['metadata']['name']}: {_late_reason(tenant)}" for tenant in late]
        return "\n".join([f"not done after {self._timeout_s:g} s:", *lines])

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def _left_s(self) -> float:
        return max(0.0, self._timeout_s - self._elapsed_s())


def _late_reason(tenant: Manifest) -> str:
    if is_status_current(tenant) or "status" not in tenant:
        return f"{phase_of(tenant)}, {reason_text(tenant)}"
    observed, generation = tenant["status"].get("observedGeneration"), tenant["metadata"]["generation"]
    return (
        f"the watcher has observed generation {observed} of {generation} "
        f"({phase_of(tenant)}, {reason_text(tenant)}); "
        "`tenancy doctor` says whether it runs"
    )
