"""The figures of the benchmark: percentiles, ratios and targets. No I/O."""

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# The figures of one step, by name. The name contains the unit.
Step = dict[str, float]
# The steps of one column, by name. A row can have several steps, such as `idle_0` and `idle_100`.
Column = dict[str, Step]
# The columns by name. None: the column could not be measured.
Columns = Mapping[str, Column | None]


def percentile(samples: Sequence[float], percent: int) -> float:
    """The percentile, interpolated between the two nearest samples."""
    if len(samples) == 1:
        return samples[0]
    return statistics.quantiles(samples, n=100, method="inclusive")[percent - 1]


def latencies(samples: Sequence[float], prefix: str = "") -> Step:
    """The median and the 95th percentile of times in seconds, and the number of samples."""
    return {
        f"{prefix}p50_s": percentile(samples, 50),
        f"{prefix}p95_s": percentile(samples, 95),
        f"{prefix}samples": len(samples),
    }


def figure(columns: Columns, column: str, step: str, name: str) -> float | None:
    """A figure, or None if it was not measured."""
    return ((columns.get(column) or {}).get(step) or {}).get(name)


def quotient(dividend: float | None, divisor: float | None) -> float | None:
    return None if dividend is None or not divisor else dividend / divisor


def ours(columns: Columns) -> str:
    """The column that is compared with the other methods: the warm engine if it was measured."""
    return "cli" if columns.get("warm") is None and columns.get("cli") is not None else "warm"


def ratios(columns: Columns) -> dict[str, float | None]:
    """The ratios between the columns. None if one of the figures was not measured.

    `create_vs_floor` and `memory_warm_vs_cli` are our figure divided by the other figure. The other ratios
    are speed-ups: a higher value is better.
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
    """A target and its figure. `value` is None if the figure was not measured."""

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
    """The targets of the project, for the column that `ours` selects."""
    own, ratio = ours(columns), ratios(columns)

    def measured(step: str, name: str) -> float | None:
        return figure(columns, own, step, name)

    spread = quotient(measured("create", "p95_s"), measured("create", "p50_s"))
    growth = quotient(measured("cost_1000", "cpu_s"), measured("cost_10", "cpu_s"))
    return [
        Target("create: times as fast as documented", ratio["create_vs_documented"], 8, True),
        Target("create: times as long as the floor", ratio["create_vs_floor"], 6),
        Target("create: p95 divided by p50", spread, 2),
        Target("burst: times as fast as documented", ratio["burst_vs_documented"], 10, True),
        Target("drift: seconds until reverted, p50", measured("drift", "reverted_p50_s"), 0.1),
        Target("drift: recorded, times as fast as with the CLI", ratio["drift_warm_vs_cli"], 4, True),
        Target("restart: Pulumi runs", measured("restart", "pulumi_runs"), 0),
        Target("burst: peak memory with 4 workers, MiB", measured("burst", "peak_mib"), 500),
        Target("cost: peak memory with 1,000 tenants, MiB", measured("cost_1000", "peak_mib"), 700),
        Target("cost: CPU time per tenant, at 1,000 divided by at 10", growth, 1.3),
    ]
