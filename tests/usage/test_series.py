"""The alerts and the dashboard ask for series, and for labels of them, that the watcher really serves."""

import re

from prometheus_client.parser import text_string_to_metric_families

from tenancy.platform.grafana_dashboard import dashboard
from tenancy.platform.prometheus import prometheus_rule
from tenancy.platform.settings import PlatformSettings
from tests.platform import NewTenant, Platform

# Served only where the cluster measures what pods use; the test of that looks at it.
MEASURED = "tenancy_usage_measured"


def queries() -> list[str]:
    groups = prometheus_rule(PlatformSettings())["spec"]["groups"]
    shown = dashboard()
    return [
        *(rule["expr"] for group in groups for rule in group["rules"]),
        *(target["expr"] for panel in shown["panels"] for target in panel["targets"]),
        *(variable["definition"] for variable in shown["templating"]["list"] if "definition" in variable),
    ]


def labels_in(query: str) -> set[str]:
    """Those that it picks series by, and those that it sums up by."""
    picked = re.findall(r"(\w+)=~?\"", query)
    summed = [label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")]
    listed = re.findall(r"label_values\(\w+, (\w+)\)", query)
    return {*picked, *summed, *listed}


def test_every_query_finds_its_series_and_labels(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("scraped", plan="basic"))
    served: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(platform.ask("/metrics")[1]):
        for sample in family.samples:
            served.setdefault(sample.name, set()).update(sample.labels)
    served[MEASURED] = served["tenancy_usage_used"]
    asked = queries()
    assert len(asked) > 15
    for query in asked:
        names = set(re.findall(r"tenancy_\w+", query))
        assert names, query
        for name in names:
            assert name in served, query
            assert labels_in(query) <= served[name], query
