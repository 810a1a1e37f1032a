"""The Grafana dashboard and the Prometheus alerts query only time series that the watcher serves."""

import json
import re

from tenancy.platform.grafana_dashboard import DASHBOARD_KEY, dashboard_config_map
from tenancy.platform.prometheus import prometheus_rule
from tenancy.platform.settings import PlatformSettings

# The time series under /metrics. A histogram has three series, whose names end in _bucket, _count and _sum.
SERIES = {
    "tenancy_quota_used",
    "tenancy_quota_hard",
    "tenancy_usage_used",
    "tenancy_usage_hard",
    "tenancy_usage_measured",
    "tenancy_usage_recorded",
    "tenancy_tenants",
    "tenancy_plans_valid",
    "tenancy_reconciles_total",
    "tenancy_queue_depth",
    "tenancy_reconcile_seconds_bucket",
}


def series_in(text: str) -> set[str]:
    return set(re.findall(r"tenancy_\w+", text))


def test_dashboard_is_json_with_a_panel_for_every_series() -> None:
    manifest = dashboard_config_map()
    assert manifest["metadata"]["labels"]["grafana_dashboard"] == "1"
    dashboard = json.loads(manifest["data"][DASHBOARD_KEY])
    assert dashboard["schemaVersion"]
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert series_in(" ".join(queries)) == SERIES
    positions = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len(set(positions)) == len(positions)


def test_alerts_watch_quotas_tenants_plans_and_the_watcher_itself() -> None:
    groups = prometheus_rule(PlatformSettings())["spec"]["groups"]
    alerts = {rule["alert"]: rule for group in groups for rule in group["rules"]}
    quota = alerts["TenantResourceQuotaExceeded"]
    assert quota["for"] == "5m"
    # The query excludes limits of 0, because a division by 0 gives no usable ratio.
    assert quota["expr"] == (
        "max by (tenant, namespace, resource) (tenancy_quota_used / (tenancy_quota_hard > 0)) > 0.9"
    )
    alerted_series = set().union(*(series_in(rule["expr"]) for rule in alerts.values()))
    sums = {"tenancy_usage_used", "tenancy_usage_hard", "tenancy_usage_measured"}
    assert alerted_series == SERIES - sums - {"tenancy_reconcile_seconds_bucket"}
