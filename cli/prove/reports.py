"""Writes the results of a tenant to a ClusterReport (openreports.io) or ClusterPolicyReport (wgpolicyk8s.io).

Other tools collect and display objects of these kinds. If the CRDs of both kinds are installed, the results
are written to one object of each kind.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from cli.connection import Connection
from cli.prove.report import TenantReport
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import CRD, REPORT_KINDS, Kind
from tenancy.base.manifest import Manifest
from tenancy.isolation.evaluation import Outcome

_RESULTS: Final = {Outcome.PASSED: "pass", Outcome.FAILED: "fail", Outcome.SKIPPED: "skip"}
_SEVERITIES: Final = {1: "critical", 2: "high", 3: "high"}
_FIELD_MANAGER: Final = "tenancy-prove"


class ReportsNotServed(TenancyError):
    reason = "ReportsNotServed"


def served_reports(connection: Connection) -> list[Kind]:
    """The report kinds that the cluster serves: ClusterReport, ClusterPolicyReport, or both.

    Raises ReportsNotServed if the cluster serves neither of them.
    """
    served = [kind for kind in REPORT_KINDS if connection.cluster.get(CRD, kind.crd)]
    if not served:
        names = " or ".join(kind.crd for kind in REPORT_KINDS)
        raise ReportsNotServed(f"--report: the cluster has no CRD {names}; install one of them first")
    return served


def write_reports(connection: Connection, kinds: Iterable[Kind], reports: list[TenantReport]) -> list[str]:
    """Write one object per kind and tenant. Returns the full names of the written objects."""
    written = []
    for kind in kinds:
        for report in reports:
            manifest = report_manifest(kind, report, datetime.now(UTC))
            connection.cluster.apply(manifest, field_manager=_FIELD_MANAGER)
            written.append(f"{kind.crd}/{manifest['metadata']['name']}")
    return written


def report_manifest(kind: Kind, report: TenantReport, now: datetime) -> Manifest:
    """The manifest of the object with the results of one tenant. `now` is the time of the results."""
    timestamp = {"seconds": int(now.timestamp()), "nanos": 0}
    results: list[dict[str, Any]] = [
        {
            "source": "tenancy",
            "category": "tenant isolation",
            "policy": result.id,
            "severity": _SEVERITIES[result.level],
            "result": _RESULTS[result.outcome],
            "message": f"{result.title}: {result.answer}",
            "scored": True,
            "timestamp": timestamp,
        }
        for result in report.results
    ]
    summary = {_RESULTS[outcome]: count for outcome, count in report.counts.items()}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": f"tenancy-isolation-{report.tenant}"},
        "scope": {"apiVersion": report.api_version, "kind": "Tenant", "name": report.tenant},
        "summary": {**summary, "warn": 0, "error": 0},
        "results": results,
    }
