"""Generates the page and the chart in the docs that show the results in `docs/benchmark.json`."""

import json
from pathlib import Path
from typing import Final

from embedded.bench.output.plot import plot
from embedded.bench.output.report import Result, column_titles, costs_table, targets_table, times_table
from embedded.bench.selection import COLUMNS
from embedded.environment import ROOT

BENCHMARK_FILE: Final = ROOT / "docs" / "benchmark.json"
BENCHMARK_PAGE: Final = BENCHMARK_FILE.with_suffix(".md")
BENCHMARK_PLOT: Final = BENCHMARK_FILE.with_suffix(".svg")
_TEMPLATE: Final = Path(__file__).with_suffix(".md")


def benchmark_page() -> str:
    """Generate the content of `docs/benchmark.md` from `docs/benchmark.json`."""
    return page(_published_result())


def benchmark_plot() -> str:
    """Generate the content of `docs/benchmark.svg` from `docs/benchmark.json`."""
    return plot(_published_result()["columns"])


def page(result: Result) -> str:
    """Generate a Markdown page that explains the benchmark and shows these results."""
    columns = result["columns"]
    heads = ["", *column_titles(columns)]
    includes = [
        [title, f"`{name}`", text] for name, (title, text) in COLUMNS.items() if columns[name] is not None
    ]
    return _TEMPLATE.read_text(encoding="utf-8").format(
        **result["machine"],
        **result["sizes"],
        objects=result["objects_per_tenant"],
        includes=_markdown(["column", "name in `--columns`", "what is measured"], includes),
        notes="".join(f"\n\n{note}" for note in result["notes"]),
        times=_markdown(heads, times_table(columns)),
        costs=_markdown(heads, costs_table(columns)),
        targets=_markdown(["target", "limit", "measured", "met"], targets_table(columns)),
        ours=COLUMNS[result["ours"]][0],
    )


def _markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---" for _ in heads], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _published_result() -> Result:
    result: Result = json.loads(BENCHMARK_FILE.read_text(encoding="utf-8"))
    return result
