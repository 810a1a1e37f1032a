"""The ServiceMonitor of the watcher and the PrometheusRule with the platform's alerts.

Both need the CRDs of the Prometheus Operator.
"""

from typing import Any, Final

from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import HTTP_PORT_NAME, SYSTEM_NAMESPACE, WATCHER, WATCHER_LABELS
from tenancy.platform.settings import PlatformSettings

_API: Final = "monitoring.coreos.com/v1"
# The used share of each quota. Quotas of 0 are left out, because a division by 0 has no useful result.
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
    endpoint: dict[str, Any] = {
        "port": HTTP_PORT_NAME,
        "path": "/metrics",
        "interval": "30s",
        # The watcher's metrics have a `namespace` label with the tenant's namespace. Without this setting,
        # Prometheus would replace its value by the watcher's namespace.
        "honorLabels": True,
    }
    if settings.protect_metrics:
        # The token of Prometheus' own ServiceAccount.
        endpoint["bearerTokenFile"] = "/var/run/secrets/kubernetes.io/serviceaccount/token"
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
            "quota in {{ $labels.namespace }}",
            "Reduce the usage, or raise the quota in the tenant's plan or in spec.resourceQuotas.",
        ),
        _alert(
            "TenantsFailed",
            'sum(tenancy_tenants{phase="Failed"}) > 0',
            "10m",
            "warning",
            "{{ $value }} tenants have failed",
            "Read the reasons in their status: kubectl get tenants.platform.ai,tenants.kleff.kleff.io",
        ),
    ]


def _watcher_alerts() -> list[dict[str, Any]]:
    return [
        _alert(
            "TenancyWatcherAbsent",
            "absent(tenancy_queue_depth)",
            "5m",
            "critical",
            "the tenancy watcher serves no metrics",
            f"Check the watcher's pod: kubectl -n {SYSTEM_NAMESPACE} describe pod {WATCHER}-0",
        ),
        _alert(
            "TenancyPlansInvalid",
            "min(tenancy_plans_valid) == 0",
            "1m",
            "warning",
            "the plans are invalid",
            "The watcher continues to use the last valid plans. Its log names the invalid field.",
        ),
        _alert(
            "TenancyUsageNotRecorded",
            "min(tenancy_usage_recorded) == 0",
            "10m",
            "warning",
            "the usage of tenants is not recorded",
            "Reports of `tenancy usage` will not include this period. Read the error in the watcher's log.",
        ),
        _alert(
            "TenancyReconcilesFailing",
            'sum(increase(tenancy_reconciles_total{result="failed"}[15m])) > 5',
            "15m",
            "warning",
            "{{ $value | humanize }} reconciles have failed within 15 minutes",
            "Read the reasons in the conditions and Events of the Tenants.",
        ),
        _alert(
            "TenancyQueueStuck",
            "sum(tenancy_queue_depth) > 0 unless sum(increase(tenancy_reconciles_total[15m])) > 0",
            "15m",
            "critical",
            "{{ $value }} tenants are queued, and none is reconciled",
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
