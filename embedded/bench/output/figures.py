"""Computes percentiles, ratios and targets from the measured values of the benchmark. No I/O."""

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# The measured values of one step, keyed by name. The name contains the unit, for example `p50_s`.
Step = dict[str, float]
# The steps of one column, keyed by name. The row `idle` has several steps, such as `idle_0` and `idle_100`.
Column = dict[str, Step]
# The columns, keyed by name. The value is None if the column could not be measured.
Columns = Mapping[str, Column | None]


def percentile(samples: Sequence[float], percent: int) -> float:
    """A percentile of the samples, interpolated between two samples. For `percent=50`, it is the median."""
    if len(samples) == 1:
        return samples[0]
    return statistics.quantiles(samples, n=100, method="inclusive")[percent - 1]


def latencies(samples: Sequence[float], prefix: str = "") -> Step:
    """The median and the 95th percentile of times in seconds, and the number of samples.

    The name of each value starts with `prefix`, such as `reverted_` in `reverted_p50_s`.
    """
    return {
        f"{prefix}p50_s": percentile(samples, 50),
        f"{prefix}p95_s": percentile(samples, 95),
        f"{prefix}samples": len(samples),
    }


def figure(columns: Columns, column: str, step: str, name: str) -> float | None:
    """The value `name` of a step in a column, such as `p50_s` of `create` in `warm`.

    None if the value was not measured.
    """
    return ((columns.get(column) or {}).get(step) or {}).get(name)


def quotient(dividend: float | None, divisor: float | None) -> float | None:
    return None if dividend is None or not divisor else dividend / divisor


def ours(columns: Columns) -> str:
    """The column that represents the watcher in comparisons with other methods: `cli` or `warm`.

    The watcher has these two columns. The result is `cli` if only `cli` was measured, and otherwise `warm`.
    """
    return "cli" if columns.get("warm") is None and columns.get("cli") is not None else "warm"


def ratios(columns: Columns) -> dict[str, float | None]:
    """The ratios between the columns, keyed by name.

    A ratio is None if one of its two values was not measured. `create_vs_floor` is the time of the watcher
    divided by the time of server-side apply. `memory_warm_vs_cli` is the peak memory of the column `warm`
    divided by the peak memory of `cli`. For both ratios, a lower value is better. The other ratios are
    speed-ups, so a higher value is better.
    """
    own = ours(columns)

    def speed_up(step: str, name: str, slow: str, fast: str) -> float | None:
        return quotient(figure(columns, slow, step, name), figure(columns, fast, step, name))

    return {
        "create_vs_documented": speed_up("create", "p50_s", "documented", own),
        "burst_vs_documented": speed_up("burst", "tenants_per_s", own, "documented"),
        "create_vs_floor": speed_up("create", "p50_s", own, "floor"),
        "create_warm_vs_cli": speed_up("create", "p50_s", "cli", "warm"),
        "burst_warm_vs_cli": speed_up("burst", "tenants_per_s", "warm", "cli"),
        "drift_warm_vs_cli": speed_up("drift", "recorded_p50_s", "cli", "warm"),
        "memory_warm_vs_cli": speed_up("burst", "peak_mib", "warm", "cli"),
    }


class Target(NamedTuple):
    """A measured value and its limit. `value` is None if the value was not measured.

    If `is_minimum` is true, the value must be at least the limit. Otherwise, it must be at most the limit.
    """

    text: str
    value: float | None
    limit: float
    is_minimum: bool = False

    @property
    def is_met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.limit if self.is_minimum else self.value <= self.limit


def targets(columns: Columns) -> list[Target]:
    """The project's targets for the watcher, with the measured values of the column that `ours` returns."""
    own, ratio = ours(columns), ratios(columns)

    def measured(step: str, name: str) -> float | None:
        return figure(columns, own, step, name)

    spread = quotient(measured("create", "p95_s"), measured("create", "p50_s"))
    growth = quotient(measured("cost_1000", "cpu_s"), measured("cost_10", "cpu_s"))
    return [
        Target("create: time of the Automation API / watcher", ratio["create_vs_documented"], 8, True),
        Target("create: time of the watcher / server-side apply", ratio["create_vs_floor"], 6),
        Target("create: p95 / p50", spread, 2),
        Target("burst: speed of the watcher / Automation API", ratio["burst_vs_documented"], 10, True),
        Target("drift until reverted: seconds, p50", measured("drift", "reverted_p50_s"), 0.1),
        Target("drift until recorded: time of the CLI / warm engine", ratio["drift_warm_vs_cli"], 4, True),
        Target("restart: Pulumi runs", measured("restart", "pulumi_runs"), 0),
        Target("burst: peak memory with 4 workers, MiB", measured("burst", "peak_mib"), 500),
        Target("create with 1,000 tenants: peak memory, MiB", measured("cost_1000", "peak_mib"), 700),
        Target("create: CPU time with 1,000 tenants / with 10 tenants", growth, 1.3),
    ]
