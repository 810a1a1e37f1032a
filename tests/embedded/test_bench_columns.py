"""The columns of `./dev bench`, measured with very small sizes on a real cluster with a real watcher."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from embedded.bench.direct_column import started_direct_column
from embedded.bench.meter import Meter
from embedded.bench.output.figures import Column
from embedded.bench.selection import Sizes
from embedded.bench.site import Site
from embedded.bench.watcher_column import WatcherColumn
from tenancy.base.kinds import NAMESPACE, ROLE, TENANTS
from tests.platform import Platform

SIZES = Sizes(
    creates=1, changes=1, deletes=1, burst=2, parallel=2, afterwards_s=0, idle_s=0.1, idle_pause_s=0
)


@dataclass
class PlatformRun:
    """Starts and stops the watcher of the tests for a column of `./dev bench`."""

    platform: Platform

    def start(self) -> Meter:
        self.platform.start()
        assert self.platform.process is not None
        return Meter(self.platform.process.pid)

    def await_ready(self) -> None:
        pass

    def reconciles(self) -> dict[str, float]:
        return {
            result: count for (result,), count in self.platform.metrics("tenancy_reconciles_total").items()
        }

    def stop(self) -> None:
        self.platform.stop()


@pytest.fixture(scope="module")
def watcher_column(running_platform: Platform) -> Iterator[Column]:
    """The measured figures of all steps that this file tests.

    After the tests, the fixture deletes the tenants.
    """
    running_platform.ensure_started()
    assert running_platform.process is not None
    meter = Meter(running_platform.process.pid)
    run = PlatformRun(running_platform)
    column = WatcherColumn(running_platform.admin, run, meter, SIZES, prefix="timed")
    steps = column.steps()
    figures = {name: steps[name]() for name in ("create", "plan", "drift", "noop", "idle_0", "delete")}
    column.stop()
    yield figures
    for name in column.tenants:
        running_platform.abandon(
            {"apiVersion": TENANTS[0].api_version, "kind": "Tenant", "metadata": {"name": name}}
        )


def test_times_of_the_watcher_end_with_its_work(watcher_column: Column) -> None:
    for name, figure in (
        ("create", "p50_s"),
        ("plan", "p50_s"),
        ("noop", "p50_s"),
        ("drift", "recorded_p50_s"),
    ):
        assert watcher_column[name][figure] > 0
    assert watcher_column["drift"]["reverted_p50_s"] < watcher_column["drift"]["recorded_p50_s"]
    assert 0 < watcher_column["delete"]["beyond_p50_s"] < watcher_column["delete"]["p50_s"]


def test_each_step_has_cpu_time_and_memory(watcher_column: Column) -> None:
    for name in ("create", "plan", "drift", "noop", "delete"):
        assert watcher_column[name]["cpu_s"] > 0.02, "the CPU time of Pulumi"
        assert watcher_column[name]["peak_mib"] > 0


def test_update_without_changes_is_an_update(watcher_column: Column, platform: Platform) -> None:
    assert watcher_column["noop"]["samples"] == 2
    messages = [
        line
        for line in platform.log()
        if line.get("tenant") == "timed-0" and line["message"] == "stack applied"
    ]
    assert [line["changes"].keys() for line in messages][-2:] == [{"same"}, {"same"}]


def test_direct_column_creates_the_objects_of_each_tenant(platform: Platform, tmp_path: Path) -> None:
    kubeconfig = Path(platform.environment["KUBECONFIG"])
    site = Site(platform.admin, tmp_path, kubeconfig, platform.environment["PATH"])
    with started_direct_column("floor", site, SIZES) as column:
        figures = column.steps()["burst"]()
    try:
        assert figures["tenants"] == 2
        assert figures["tenants_per_s"] == pytest.approx(2 / figures["seconds"])
        assert figures["cpu_s"] > 0
        for number in range(3):  # One tenant is created before the burst.
            assert len(platform.admin.list(ROLE, namespace=f"tenant-floor-{number}")[0]) == 3
    finally:
        for number in range(3):
            platform.admin.delete(NAMESPACE, f"tenant-floor-{number}")
