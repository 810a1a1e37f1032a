"""Measures the watcher. Each step waits until the watcher has completed its work.

In the benchmark, the watcher with the Pulumi CLI is the column `cli`, and the watcher with the warm engine is
the column `warm`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, Protocol

from cluster.client import Cluster
from embedded.bench.meter import Meter, Usage
from embedded.bench.output.figures import Step, latencies
from embedded.bench.selection import Sizes
from embedded.bench.tenant_operations import TenantOperations
from embedded.errors import SetupFailed

_POLL_S: Final = 0.25
_RESTART_TIMEOUT_S: Final = 300.0


class Run(Protocol):
    """A watcher process that can be restarted."""

    def start(self) -> Meter: ...

    def await_ready(self) -> None: ...

    def reconciles(self) -> dict[str, float]: ...

    def stop(self) -> None: ...


class WatcherColumn:
    """Measures a running watcher. Each step creates the tenants that it needs."""

    def __init__(self, admin: Cluster, run: Run, meter: Meter, sizes: Sizes, prefix: str = "bench") -> None:
        self._operations = TenantOperations(admin)
        self._run = run
        self.meter = meter
        self._sizes = sizes
        self._prefix = prefix
        self._count = 0
        # The tenants that exist. All of them are Ready.
        self.tenants: list[str] = []

    def steps(self) -> dict[str, Callable[[], Step]]:
        """The functions that measure the steps, keyed by the name of the step.

        They are sorted by the number of tenants that must exist before the step.
        """
        sizes = self._sizes
        steps: list[tuple[int, str, Callable[[], Step]]] = [
            (1, "create", self._create),
            (2, "plan", self._change_plan),
            (2, "drift", self._drift),
            (2, "noop", self._change_no_object),
            (2, "delete", self._delete),
            (11, "burst", lambda: self._create_at_once(sizes.burst)),
            (sizes.restart, "restart", self._restart),
        ]
        steps += [(n, f"idle_{n}", partial(self._idle, n)) for n in sizes.idle]
        steps += [(n, f"cost_{n}", partial(self._cost, n)) for n in sizes.cost]
        return {name: step for _, name, step in sorted(steps, key=lambda entry: entry[0])}

    def ensure_tenants(self, count: int) -> None:
        """Create tenants until `count` tenants exist."""
        if missing := self._new_names(count - len(self.tenants)):
            self._operations.apply_at_once(missing, self._sizes.parallel)
            self.tenants += missing

    def stop(self) -> None:
        """Stop the watches. The watcher keeps running."""
        self._operations.stop()

    def _create(self) -> Step:
        self.ensure_tenants(1)  # The first tenant is slower, because the caches are empty.
        names = self._new_names(self._sizes.creates)
        with self._measured() as usage:
            samples = [self._operations.apply(name) for name in names]
        self.tenants += names
        return _step(latencies(samples), usage, len(samples))

    def _change_plan(self) -> Step:
        return self._change_and_change_back({"plan": "pro"}, {"plan": "basic"})

    def _change_no_object(self) -> Step:
        """Change `deletionPolicy` of Tenants. Each change causes an update that changes no object."""
        return self._change_and_change_back({"deletionPolicy": "Retain"}, {"deletionPolicy": "Delete"})

    def _change_and_change_back(self, change: dict[str, str], change_back: dict[str, str]) -> Step:
        count = -(-self._sizes.changes // 2)
        self.ensure_tenants(count)
        with self._measured() as usage:
            samples = [
                self._operations.apply(name, **spec)
                for name in self.tenants[:count]
                for spec in (change, change_back)
            ]
        return _step(latencies(samples), usage, len(samples))

    def _drift(self) -> Step:
        self.ensure_tenants(self._sizes.changes)
        names = self.tenants[: self._sizes.changes]
        with self._measured() as usage:
            times = [self._operations.cause_drift(name) for name in names]
        reverted, recorded = zip(*times, strict=True)
        return _step(latencies(reverted, "reverted_") | latencies(recorded, "recorded_"), usage, len(times))

    def _delete(self) -> Step:
        count = self._sizes.deletes
        self.ensure_tenants(count)
        names, self.tenants = self.tenants[-count:], self.tenants[:-count]
        with self._measured() as usage:
            times = [self._operations.delete(name) for name in names]
        total = [total_s for total_s, _ in times]
        beyond = [total_s - namespace_s for total_s, namespace_s in times]
        return _step(latencies(total) | latencies(beyond, "beyond_"), usage, len(times))

    def _create_at_once(self, count: int) -> Step:
        self.ensure_tenants(1)
        names, existing = self._new_names(count), len(self.tenants)
        with self._measured() as usage:
            seconds = self._operations.apply_at_once(names, self._sizes.parallel)
        self.tenants += names
        figures = {
            "existing": existing,
            "tenants": count,
            "seconds": seconds,
            "tenants_per_s": count / seconds,
        }
        return _step(figures, usage, count)

    def _cost(self, existing: int) -> Step:
        self.ensure_tenants(existing)
        return self._create_at_once(self._sizes.cost_batch)

    def _idle(self, existing: int) -> Step:
        """Measure the watcher while no tenant changes. `cpu_s` is the CPU time per minute."""
        self.ensure_tenants(existing)
        if existing:
            time.sleep(self._sizes.idle_pause_s)
        with self.meter.measured() as usage:
            time.sleep(self._sizes.idle_s)
        return _step({"existing": len(self.tenants)}, usage, self._sizes.idle_s / 60)

    def _restart(self) -> Step:
        """Restart the watcher, and measure until it has reconciled each tenant."""
        self.ensure_tenants(self._sizes.restart)
        self._run.stop()
        started_s = time.perf_counter()
        self.meter = self._run.start()
        with self.meter.measured() as usage:
            self._run.await_ready()
            ready_s = time.perf_counter() - started_s
            while sum((reconciles := self._run.reconciles()).values()) < len(self.tenants):
                if time.perf_counter() - started_s > _RESTART_TIMEOUT_S:
                    raise SetupFailed(
                        "The benchmark failed: after its restart, the watcher did not reconcile all"
                        f" {len(self.tenants)} tenants within {_RESTART_TIMEOUT_S:.0f} s. Number of"
                        f" reconciles by result: {reconciles}."
                    )
                time.sleep(_POLL_S)
            checked_s = time.perf_counter() - started_s
        # Every reconcile that runs Pulumi has one of these two results.
        runs = reconciles["applied"] + reconciles["failed"]
        figures = {
            "existing": len(self.tenants),
            "ready_s": ready_s,
            "checked_s": checked_s,
            "pulumi_runs": runs,
        }
        return _step(figures, usage, 1)

    @contextmanager
    def _measured(self) -> Iterator[Usage]:
        with self.meter.measured() as usage:
            yield usage
            time.sleep(self._sizes.afterwards_s)

    def _new_names(self, count: int) -> list[str]:
        names = [f"{self._prefix}-{self._count + number}" for number in range(count)]
        self._count += len(names)
        return names


def _step(figures: Step, usage: Usage, operations: float) -> Step:
    return {**figures, "cpu_s": usage.cpu_s / operations, "peak_mib": usage.peak_mib}
