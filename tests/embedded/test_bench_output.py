"""The ratios, targets, tables, chart and page of `./dev bench`. The tests compute them from fixed figures."""

import argparse
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from embedded.bench.command import NoEngine, measured_column
from embedded.bench.output.figures import Column, Columns, latencies, percentile, ratios, targets
from embedded.bench.output.page import (
    BENCHMARK_PAGE,
    BENCHMARK_PLOT,
    benchmark_page,
    benchmark_plot,
    page,
)
from embedded.bench.output.plot import plot
from embedded.bench.output.report import Machine, costs_table, result, targets_table, times_table
from embedded.bench.selection import COLUMNS, ROWS, Sizes, names_in, sizes_of
from embedded.cli import parsed_arguments

MACHINE = Machine("linux/amd64", 2, 7.8, 0.1)


def column(create_s: float, rate: float, recorded_s: float, peak_mib: float) -> Column:
    return {
        "create": {"p50_s": create_s, "p95_s": 1.5 * create_s, "cpu_s": 0.5, "peak_mib": 90.0},
        "burst": {"tenants": 100, "tenants_per_s": rate, "cpu_s": 0.4, "peak_mib": peak_mib},
        "drift": {"reverted_p50_s": 0.05, "recorded_p50_s": recorded_s, "cpu_s": 0.3, "peak_mib": 80.0},
        "restart": {"ready_s": 1.25, "checked_s": 2.0, "pulumi_runs": 0, "cpu_s": 1.0, "peak_mib": 70.0},
    }


FLOOR: Column = {"create": {"p50_s": 0.05, "p95_s": 0.06, "cpu_s": 0.02, "peak_mib": 40.0}}
DOCUMENTED: Column = {
    "create": {"p50_s": 3.0, "p95_s": 3.3, "cpu_s": 2.0, "peak_mib": 300.0},
    "burst": {"tenants": 20, "tenants_per_s": 0.5, "cpu_s": 2.0, "peak_mib": 1200.0},
}
ALL: Columns = {
    "floor": FLOOR,
    "documented": DOCUMENTED,
    "cli": column(1.0, 2.0, 1.2, 1600.0),
    "warm": column(0.25, 8.0, 0.24, 400.0),
}
WITHOUT_WARM: Columns = {**ALL, "warm": None}


@pytest.mark.parametrize(
    ("samples", "p50", "p95"),
    [([2.0], 2.0, 2.0), ([1.0, 3.0], 2.0, 2.9), ([float(n) for n in range(101)], 50.0, 95.0)],
)
def test_percentiles_are_interpolated(samples: list[float], p50: float, p95: float) -> None:
    assert (percentile(samples, 50), percentile(samples, 95)) == pytest.approx((p50, p95))


def test_latencies_have_the_given_prefix() -> None:
    assert latencies([4.0], "recorded_") == {"recorded_p50_s": 4, "recorded_p95_s": 4, "recorded_samples": 1}


def test_ratios_compare_the_warm_engine_with_the_other_columns() -> None:
    assert ratios(ALL) == pytest.approx(
        {
            "create_vs_documented": 12,
            "burst_vs_documented": 16,
            "create_vs_floor": 5,
            "create_warm_vs_cli": 4,
            "burst_warm_vs_cli": 4,
            "drift_warm_vs_cli": 5,
            "memory_warm_vs_cli": 0.25,
        }
    )


def test_without_the_warm_engine_the_cli_is_compared() -> None:
    values = ratios(WITHOUT_WARM)
    compared = ("create_vs_documented", "burst_vs_documented", "create_vs_floor")
    assert [values[name] for name in compared] == pytest.approx([3, 4, 20])
    assert {values[name] for name in values if name.endswith("_warm_vs_cli")} == {None}


def test_ratios_of_rows_that_were_not_measured_are_none() -> None:
    assert set(ratios({"warm": {}, "cli": {}}).values()) == {None}


def test_targets_say_whether_they_are_met() -> None:
    is_met = {target.text: target.is_met for target in targets(ALL)}
    missing = [text for text, met in is_met.items() if met is None]
    assert [text for text, met in is_met.items() if met is False] == []
    assert all("1,000" in text for text in missing)
    assert len(missing) == 2
    missed = [target.text for target in targets(WITHOUT_WARM) if target.is_met is False]
    assert missed == [
        "create: time of the Automation API / watcher",
        "create: time of the watcher / server-side apply",
        "burst: speed of the watcher / Automation API",
        "burst: peak memory with 4 workers, MiB",
    ]


def test_json_starts_with_the_ratios_and_has_null_for_a_missing_column() -> None:
    text = json.dumps(result(WITHOUT_WARM, MACHINE, 18, Sizes(), ["no engine"]))
    assert text.startswith('{"ratios": {"create_vs_documented": 3.0,')
    written = json.loads(text)
    assert written["columns"]["warm"] is None
    assert written["columns"]["cli"]["burst"]["tenants_per_s"] == 2.0
    assert (written["ours"], written["notes"]) == ("cli", ["no engine"])
    assert (written["machine"]["cores"], written["objects_per_tenant"]) == (2, 18)


def test_tables_have_a_cell_for_each_measured_column() -> None:
    times, costs = times_table(ALL), costs_table(WITHOUT_WARM)
    assert ["create a tenant, p50", "0.05 s", "3 s", "1 s", "0.25 s"] in times
    assert ["burst", "–", "0.5 tenants/s", "2 tenants/s", "8 tenants/s"] in times
    assert ["burst, per tenant", "–", "2 s, 1,200 MiB", "0.4 s, 1,600 MiB"] in costs
    assert [row for row in times if row[0].startswith("update without changes")] == []
    assert ["restart: Pulumi runs", "≤ 0", "0", "yes"] in targets_table(ALL)


def test_chart_has_a_bar_for_each_figure_and_a_scale_for_each_panel() -> None:
    chart = ET.fromstring(plot(ALL))
    namespace = "{http://www.w3.org/2000/svg}"
    _, *bars = chart.findall(f"{namespace}rect")
    labels = [text.text for text in chart.findall(f"{namespace}text")]
    # Four panels have bars. The panel for "create" has a bar for each column. Three panels lack some columns.
    assert len(bars) == 4 + 2 + 3 + 3
    assert labels.count("–") == 2 + 1 + 1
    assert "Create a tenant (seconds)" in labels
    longest = max(float(bar.attrib["width"]) for bar in bars)
    assert [float(bar.attrib["width"]) for bar in bars].count(longest) == 4


def test_page_shows_the_machine_the_tables_and_the_notes() -> None:
    text = page(result(WITHOUT_WARM, MACHINE, 18, Sizes(), ["No engine was found."]))
    assert "2 cores and 7.8 GiB" in text
    assert "\n\nNo engine was found.\n" in text
    assert "| create a tenant, p50 | 0.05 s | 3 s | 1 s |" in text
    assert "column *watcher, CLI*" in text
    assert "watcher, warm engine" not in text


def test_page_and_chart_in_the_docs_are_current() -> None:
    assert BENCHMARK_PAGE.read_text(encoding="utf-8") == benchmark_page(), "run ./dev generate"
    assert BENCHMARK_PLOT.read_text(encoding="utf-8") == benchmark_plot(), "run ./dev generate"


def test_rows_and_columns_can_be_selected() -> None:
    args = parsed_arguments(["bench", "--rows", "burst, create", "--columns", "warm,cli", "--full"])
    assert (args.rows, args.columns, args.full) == (("create", "burst"), ("cli", "warm"), True)


def test_unknown_row_is_rejected_with_the_possible_names() -> None:
    with pytest.raises(
        argparse.ArgumentTypeError, match="unknown name 'creat'; possible names: create, plan"
    ):
        names_in(tuple(ROWS))("burst,creat")


def test_only_a_full_run_has_1000_tenants() -> None:
    assert 1000 not in (*sizes_of("warm", is_full=False).idle, *sizes_of("warm", is_full=False).cost)
    assert 1000 in sizes_of("warm", is_full=True).idle
    assert 1000 in sizes_of("warm", is_full=True).cost
    assert sizes_of("documented", is_full=False).burst < sizes_of("cli", is_full=False).burst


def test_missing_engine_leaves_the_column_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoEngine):
        measured_column("warm", {}, tmp_path / "warm", tuple(ROWS), Sizes(), lambda _: None)
    assert not (tmp_path / "warm").exists()


def test_every_column_has_a_title_and_a_colour() -> None:
    assert all(title in plot({name: FLOOR}) for name, (title, _) in COLUMNS.items())
