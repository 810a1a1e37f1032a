"""What Prometheus is told of the platform: where to find the watcher's metrics, and when to wake somebody.

Part of the platform's manifests, where the Prometheus operator's CRDs are. The dashboard is in
`grafana_dashboard`.
"""

from typing import Any, Final

from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import HTTP_PORT_NAME, SYSTEM_NAMESPACE, WATCHER, WATCHER_LABELS
from tenancy.platform.settings import PlatformSettings

_API: Final = "monitoring.coreos.com/v1"
# A resource of which there is to be none (hard = 0) can't be nearly used up, and must not be divided by.
QUOTA_SHARE: Final = "tenancy_quota_used / (tenancy_quota_hard > 0)"


def prometheus_rule(settings: PlatformSettings) -> Manifest:
    return {
        "apiVersion": _API,
        "kind": "PrometheusRule",
        "metadata": _metadata(settings),
        "spec": {
            "groups": [
                {"name": "tenancy.tenants", "rules": _tenant_alerts()},
                {"name": "tenancy.watcher", "rules": _watcher_alerts()},
            ]
        },
    }


def service_monitor(settings: PlatformSettings) -> Manifest:
    endpoint = {
        "port": HTTP_PORT_NAME,
        "path": "/metrics",
        "interval": "30s",
        # The series say which tenant's namespace they are about: the watcher's own must not cover that.
        "honorLabels": True,
    }
    return {
        "apiVersion": _API,
        "kind": "ServiceMonitor",
        "metadata": _metadata(settings),
        "spec": {"selector": {"matchLabels": WATCHER_LABELS}, "endpoints": [endpoint]},
    }


def _metadata(settings: PlatformSettings) -> dict[str, Any]:
    labels = {**WATCHER_LABELS, **settings.monitoring_labels}
    return {"name": WATCHER, "namespace": SYSTEM_NAMESPACE, "labels": labels}


def _tenant_alerts() -> list[dict[str, Any]]:
    return [
        _alert(
            "TenantResourceQuotaExceeded",
            f"max by (tenant, namespace, resource) ({QUOTA_SHARE}) > 0.9",
            "5m",
            "warning",
            "{{ $labels.tenant }} uses {{ $value | humanizePercentage }} of its {{ $labels.resource }} "
            "in {{ $labels.namespace }}",
            "Free some of it, or give the tenant more by its plan or its spec.resourceQuotas.",
        ),
        _alert(
            "TenantsFailed",
            'sum(tenancy_tenants{phase="Failed"}) > 0',
            "10m",
            "warning",
            "{{ $value }} tenants have failed",
            "Their status says why: kubectl get tenants.platform.ai,tenants.kleff.kleff.io",
        ),
    ]


def _watcher_alerts() -> list[dict[str, Any]]:
    return [
        _alert(
            "TenancyWatcherAbsent",
            "absent(tenancy_queue_depth)",
            "5m",
            "critical",
            "nobody watches the tenants",
            f"No metrics of the watcher: kubectl -n {SYSTEM_NAMESPACE} describe pod {WATCHER}-0",
        ),
        _alert(
            "TenancyPlansInvalid",
            "min(tenancy_plans_valid) == 0",
            "1m",
            "warning",
            "the plans are refused",
            "The last good ones stay in force. The watcher's log names the field that is wrong.",
        ),
        _alert(
            "TenancyUsageNotRecorded",
            "min(tenancy_usage_recorded) == 0",
            "10m",
            "warning",
            "what tenants use is not on record",
            "It is missing in `tenancy usage` for good. The watcher's log says what is wrong with the file.",
        ),
        _alert(
            "TenancyReconcilesFailing",
            'sum(increase(tenancy_reconciles_total{result="failed"}[15m])) > 5',
            "15m",
            "warning",
            "{{ $value | humanize }} turns of tenants have failed within 15 minutes",
            "The tenants' conditions and events say why.",
        ),
        _alert(
            "TenancyQueueStuck",
            "sum(tenancy_queue_depth) > 0 unless sum(increase(tenancy_reconciles_total[15m])) > 0",
            "15m",
            "critical",
            "{{ $value }} tenants wait, and none is worked on",
            f"See the watcher's log: kubectl -n {SYSTEM_NAMESPACE} logs {WATCHER}-0",
        ),
    ]


def _alert(name: str, expr: str, for_: str, severity: str, summary: str, advice: str) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": expr,
        "for": for_,
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "description": advice},
    }
