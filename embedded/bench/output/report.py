"""Converts the measured values of the benchmark to JSON and to tables. No I/O."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from embedded.bench.output.figures import Column, Columns, figure, ours, ratios, targets
from embedded.bench.selection import COLUMNS, Sizes

# The results of the benchmark, in the format of the file that `./dev bench --json` writes.
Result = dict[str, Any]

_DIGITS: Final = 4


class Machine(NamedTuple):
    """The machine on which the benchmark ran."""

    system: str
    cores: int
    memory_gib: float
    # The load average of the last minute before the benchmark.
    load: float


class Line(NamedTuple):
    """One line of a table. It shows one value, such as the median of a step, for each column."""

    title: str
    step: str
    figure: str
    unit: str


_TIMES: Final = (
    Line("create a tenant, p50", "create", "p50_s", "s"),
    Line("create a tenant, p95", "create", "p95_s", "s"),
    Line("change the plan, p50", "plan", "p50_s", "s"),
    Line("drift until reverted, p50", "drift", "reverted_p50_s", "s"),
    Line("drift until recorded, p50", "drift", "recorded_p50_s", "s"),
    Line("update without changes, p50", "noop", "p50_s", "s"),
    Line("delete a tenant, p50", "delete", "p50_s", "s"),
    Line("delete, without Kubernetes' own time, p50", "delete", "beyond_p50_s", "s"),
    Line("burst", "burst", "tenants_per_s", "tenants/s"),
    Line("size of the burst", "burst", "tenants", ""),
    Line("restart until ready", "restart", "ready_s", "s"),
    Line("restart until all tenants are checked", "restart", "checked_s", "s"),
    Line("restart: Pulumi runs", "restart", "pulumi_runs", ""),
)
_OPERATIONS: Final = {
    "create": "create a tenant",
    "plan": "change the plan",
    "drift": "repair drift",
    "noop": "update without changes",
    "delete": "delete a tenant",
    "burst": "burst, per tenant",
    "restart": "restart",
    "cost_10": "create a tenant, with 10 tenants",
    "cost_100": "create a tenant, with 100 tenants",
    "cost_1000": "create a tenant, with 1,000 tenants",
    "idle_0": "idle for a minute, with 0 tenants",
    "idle_100": "idle for a minute, with 100 tenants",
    "idle_1000": "idle for a minute, with 1,000 tenants",
}


def result(
    columns: Columns, machine: Machine, objects: int, sizes: Sizes, notes: Sequence[str] = ()
) -> Result:
    """The results of the benchmark, in the format of the JSON file. A column that was not measured is None.

    `objects` is the number of objects per tenant. `sizes` contains the sizes for the column `warm`.
    """
    return {
        "ratios": {name: _rounded(ratio) for name, ratio in ratios(columns).items()},
        "ours": ours(columns),
        "targets": [
            {
                "target": target.text,
                "limit": target.limit,
                "is_minimum": target.is_minimum,
                "value": _rounded(target.value),
                "is_met": target.is_met,
            }
            for target in targets(columns)
        ],
        "machine": machine._asdict(),
        "objects_per_tenant": objects,
        "sizes": asdict(sizes),
        "notes": list(notes),
        "columns": {name: _rounded_column(columns.get(name)) for name in COLUMNS},
    }


def times_table(columns: Columns) -> list[list[str]]:
    """The lines of the table of times. Each line consists of a title and one cell per measured column.

    Lines without a measured value are omitted.
    """
    return _table(columns, [(line.title, [line]) for line in _TIMES])


def costs_table(columns: Columns) -> list[list[str]]:
    """The lines of the table of costs. Each line consists of a title and one cell per measured column.

    A cell contains the CPU time and the peak memory.
    """
    entries = [
        (title, [Line(title, step, "cpu_s", "s"), Line(title, step, "peak_mib", "MiB")])
        for step, title in _OPERATIONS.items()
    ]
    return _table(columns, entries)


def targets_table(columns: Columns) -> list[list[str]]:
    """The lines of the table of targets.

    Each line consists of the target, its limit, the measured value, and whether the target is met.
    """
    return [
        [
            target.text,
            f"{'≥' if target.is_minimum else '≤'} {target.limit:g}",
            "–" if target.value is None else _text(target.value, ""),
            {True: "yes", False: "no", None: "not measured"}[target.is_met],
        ]
        for target in targets(columns)
    ]


def column_titles(columns: Columns) -> list[str]:
    """The titles of the measured columns."""
    return [title for name, (title, _) in COLUMNS.items() if columns.get(name) is not None]


def _table(columns: Columns, entries: list[tuple[str, list[Line]]]) -> list[list[str]]:
    names = [name for name in COLUMNS if columns.get(name) is not None]
    rows = []
    for title, lines in entries:
        cells = [_cell(columns, name, lines) for name in names]
        if any(cell != "–" for cell in cells):
            rows.append([title, *cells])
    return rows


def _cell(columns: Columns, column: str, lines: list[Line]) -> str:
    values = [(figure(columns, column, line.step, line.figure), line.unit) for line in lines]
    return ", ".join(_text(value, unit) for value, unit in values if value is not None) or "–"


def _text(value: float, unit: str) -> str:
    """A value and its unit, such as `0.123 s`. Values below 100 have at most three significant digits.

    Values from 100 have no decimal places.
    """
    number = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return f"{number} {unit}".strip()


def _rounded_column(column: Column | None) -> dict[str, dict[str, float | None]] | None:
    if column is None:
        return None
    return {
        step: {name: _rounded(value) for name, value in figures.items()} for step, figures in column.items()
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
