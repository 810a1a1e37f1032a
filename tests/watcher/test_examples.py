"""The watcher applies the example with the most fields and the examples that `./dev run` uses."""

import yaml

from embedded.environment import ROOT
from tests.platform import NewTenant, Platform

EVERYTHING = ROOT / "examples" / "more" / "everything.yaml"


def test_everything_becomes_active_with_its_budget_split(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("example", **yaml.safe_load(EVERYTHING.read_text())["spec"]))
    objects = platform.objects("example")
    budgets = [objects["ResourceQuota", f"tenant-example-{name}", "tenant-quota"] for name in ("dev", "prod")]
    assert [budget["spec"]["hard"]["cpu"] for budget in budgets] == ["2", "6"]
