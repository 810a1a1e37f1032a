"""The work queue of tenants. It contains each tenant at most once.

Two workers never process the same tenant at the same time. If a tenant is added while a worker processes it,
the queue returns the tenant again after the worker is done. If the worker fails, the queue returns the tenant
again after a retry delay. `add_now` cancels this delay. Use `add_now` after a change to the Tenant's spec.
"""

import heapq
import threading
import time

from tenancy.base.backoff import RECONCILE, Backoff


class TenantQueue:
    def __init__(self, backoff: Backoff = RECONCILE) -> None:
        self._backoff = backoff
        self._changed = threading.Condition()
        self._due: list[tuple[float, str]] = []
        self._waiting: dict[str, float] = {}
        self._working: set[str] = set()
        self._again: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._renewed: set[str] = set()
        self._is_closed = False

    def add(self, tenant: str, after_s: float = 0.0) -> None:
        """Queue a tenant after `after_s` seconds, or later if it is in a retry delay or in a pause.

        A retry delay follows a failure (see `failed`). A pause follows a success (see `done`).
        """
        with self._changed:
            due = max(time.monotonic() + after_s, self._not_before.get(tenant, 0.0))
            self._schedule(tenant, due)

    def add_now(self, tenant: str) -> None:
        """Queue a tenant at once. Cancel its retry delay and its pause, and reset its count of failures."""
        with self._changed:
            self._forgive(tenant)
            if tenant in self._working:
                self._renewed.add(tenant)
            self._schedule(tenant, time.monotonic())

    def take(self) -> str | None:
        """Wait for the next tenant, and return its name. Returns None after the queue is closed."""
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                if self._due and self._due[0][0] <= now:
                    due, tenant = heapq.heappop(self._due)
                    if self._waiting.get(tenant) != due:
                        continue  # An outdated entry: the tenant has since been queued for an earlier time.
                    del self._waiting[tenant]
                    self._working.add(tenant)
                    return tenant
                self._changed.wait(self._due[0][0] - now if self._due else None)
            return None

    def done(self, tenant: str, pause_s: float = 0.0) -> None:
        """Record that a worker has processed the tenant without an error. Start a pause of `pause_s` seconds.

        During the pause, `add` delays the tenant until the pause has ended.
        """
        with self._changed:
            self._forgive(tenant)
            if pause_s:
                self._not_before[tenant] = time.monotonic() + pause_s
            self._release(tenant)

    def failed(self, tenant: str) -> float:
        """Record that a worker has failed, and queue the tenant after a retry delay.

        Returns the delay in seconds.
        """
        with self._changed:
            failures = self._failures.get(tenant, 0)
            # If the spec changed during the failed attempt, there is no retry delay.
            wait_s = 0.0 if tenant in self._renewed else self._backoff.wait_s(failures)
            if wait_s:
                self._failures[tenant] = failures + 1
                self._not_before[tenant] = time.monotonic() + wait_s
            self._again[tenant] = time.monotonic() + wait_s
            self._release(tenant)
            return wait_s

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def depth(self) -> int:
        with self._changed:
            return len(self._waiting)

    def _forgive(self, tenant: str) -> None:
        self._failures.pop(tenant, None)
        self._not_before.pop(tenant, None)

    def _release(self, tenant: str) -> None:
        self._working.discard(tenant)
        self._renewed.discard(tenant)
        due = self._again.pop(tenant, None)
        if due is not None:
            self._schedule(tenant, max(due, self._not_before.get(tenant, 0.0)))

    def _schedule(self, tenant: str, due: float) -> None:
        if tenant in self._working:
            self._again[tenant] = min(due, self._again.get(tenant, due))
            return
        if due < self._waiting.get(tenant, float("inf")):
            self._waiting[tenant] = due
            heapq.heappush(self._due, (due, tenant))
            self._changed.notify()
