"""The Grafana dashboard and its ConfigMap. Grafana's sidecar finds the ConfigMap by its label.

The dashboard uses only metrics that the watcher serves at /metrics.
"""

import json
from typing import Any, Final

from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import SYSTEM_NAMESPACE
from tenancy.platform.prometheus import QUOTA_SHARE

DASHBOARD_CONFIG_MAP: Final = "tenancy-dashboard"
DASHBOARD_KEY: Final = "tenancy.json"

_SCHEMA_VERSION: Final = 39
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_COLUMNS: Final = 2
_WIDTH: Final = 24 // _COLUMNS
_HEIGHT: Final = 8

# PromQL queries of a panel. The keys are the texts in the legend.
Queries = dict[str, str]


def dashboard_config_map() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": DASHBOARD_CONFIG_MAP,
            "namespace": SYSTEM_NAMESPACE,
            "labels": {"grafana_dashboard": "1"},
        },
        "data": {DASHBOARD_KEY: json.dumps(dashboard(), indent=1)},
    }


def dashboard() -> dict[str, Any]:
    panels = [
        ("CPU requested by tenant", "short", _by_tenant("used", "cpu")),
        ("CPU quota by tenant", "short", _by_tenant("hard", "cpu")),
        ("Memory requested by tenant", "bytes", _by_tenant("used", "memory")),
        ("Memory quota by tenant", "bytes", _by_tenant("hard", "memory")),
        ("Measured CPU usage by tenant", "short", _by_tenant("measured", "cpu")),
        ("Measured memory usage by tenant", "bytes", _by_tenant("measured", "memory")),
        ("Pods by tenant", "short", _by_tenant("used", "pods")),
        ("Most used quotas", "percentunit", _most_used()),
        ("Tenants by phase", "short", {"{{phase}}": "sum by (phase) (tenancy_tenants)"}),
        (
            "Reconciles by result",
            "ops",
            {"{{result}}": "sum by (result) (rate(tenancy_reconciles_total[5m]))"},
        ),
        ("Reconcile duration", "s", {"median": _quantile(0.5), "90th percentile": _quantile(0.9)}),
        (
            "Queue, plans, usage record",
            "short",
            {
                "tenants queued": "sum(tenancy_queue_depth)",
                "plans valid": "min(tenancy_plans_valid)",
                "usage recorded": "min(tenancy_usage_recorded)",
            },
        ),
    ]
    return {
        "uid": "tenancy",
        "title": "Tenancy",
        "tags": ["tenancy"],
        "schemaVersion": _SCHEMA_VERSION,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "1m",
        "templating": {"list": [_source_variable(), _tenant_variable()]},
        "panels": [_panel(index, *panel) for index, panel in enumerate(panels)],
    }


def _panel(index: int, title: str, unit: str, queries: Queries) -> dict[str, Any]:
    row, column = divmod(index, _COLUMNS)
    return {
        "id": index + 1,
        "type": "timeseries",
        "title": title,
        "datasource": _SOURCE,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": _SOURCE, "expr": expr, "legendFormat": legend}
            for number, (legend, expr) in enumerate(queries.items())
        ],
    }


def _by_tenant(figure: str, resource: str) -> Queries:
    series = f'tenancy_usage_{figure}{{tenant=~"$tenant", resource="{resource}"}}'
    return {"{{tenant}}": f"sum by (tenant) ({series})"}


def _most_used() -> Queries:
    share = QUOTA_SHARE.replace("tenancy_quota_used", 'tenancy_quota_used{tenant=~"$tenant"}')
    legend = "{{tenant}} {{namespace}} {{resource}}"
    return {legend: f"topk(15, max by (tenant, namespace, resource) ({share}))"}


def _quantile(quantile: float) -> str:
    return f"histogram_quantile({quantile}, sum by (le) (rate(tenancy_reconcile_seconds_bucket[5m])))"


def _source_variable() -> dict[str, Any]:
    return {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}


def _tenant_variable() -> dict[str, Any]:
    query = "label_values(tenancy_quota_hard, tenant)"
    return {
        "name": "tenant",
        "label": "Tenant",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": "tenants"},
        "definition": query,
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
    }
