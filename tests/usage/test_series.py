"""The queries of the alerts and the dashboard use only time series and labels that the watcher serves."""

import re

from prometheus_client.parser import text_string_to_metric_families

from tenancy.platform.grafana_dashboard import dashboard
from tenancy.platform.prometheus import prometheus_rule
from tenancy.platform.settings import PlatformSettings
from tests.platform import NewTenant, Platform

# The watcher serves this series only if the cluster measures the usage of pods. `test_measured` tests it.
MEASURED = "tenancy_usage_measured"


def queries() -> list[str]:
    groups = prometheus_rule(PlatformSettings())["spec"]["groups"]
    board = dashboard()
    return [
        *(rule["expr"] for group in groups for rule in group["rules"]),
        *(target["expr"] for panel in board["panels"] for target in panel["targets"]),
        *(variable["definition"] for variable in board["templating"]["list"] if "definition" in variable),
    ]


def labels_in(query: str) -> set[str]:
    """The labels by which the query selects or groups, and the labels whose values it lists."""
    selected = re.findall(r"(\w+)=~?\"", query)
    grouped = [label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")]
    listed = re.findall(r"label_values\(\w+, (\w+)\)", query)
    return {*selected, *grouped, *listed}


def test_every_query_finds_its_series_and_labels(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("scraped", plan="basic"))
    served: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(platform.http_get("/metrics")[1]):
        for sample in family.samples:
            served.setdefault(sample.name, set()).update(sample.labels)
    served[MEASURED] = served["tenancy_usage_used"]
    all_queries = queries()
    assert len(all_queries) > 15
    for query in all_queries:
        names = set(re.findall(r"tenancy_\w+", query))
        assert names, query
        for name in names:
            assert name in served, query
            assert labels_in(query) <= served[name], query
