"""The reference page of the status names every reason, metric, alert and condition."""

import re
from collections.abc import Iterator

import pytest

from cluster import client
from embedded.environment import ROOT
from stacks.errors import StackError
from tenancy.base.errors import TenancyError
from tenancy.platform.prometheus import prometheus_rule
from tenancy.platform.settings import PlatformSettings
from tenancy.spec.aisession import SessionReason
from tenancy.spec.tenant_status import ConditionType
from watcher.reconciler import apply, claims, contested_objects, repairs

PAGE = (ROOT / "docs" / "reference" / "status.md").read_text(encoding="utf-8")
# Imported so that `__subclasses__` includes their errors.
_WITH_ERRORS = (apply, claims, client, contested_objects, repairs)
# Other capitalized strings in those files: kinds, phases, and values of a condition.
_NO_REASONS = {"Namespace", "ResourceQuota", "Active", "True", "False", "Unknown"}


def class_and_subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for child in kind.__subclasses__():
        yield from class_and_subclasses(child)


def reasons() -> list[str]:
    """The reasons of errors in a tenant's status, of string literals in the code, and of AISessions."""
    kinds = [
        kind
        for root in (TenancyError, StackError, client.ClusterError)
        for kind in class_and_subclasses(root)
    ]
    # Errors of the command line end a command, and do not appear in a status.
    status_errors = [
        kind
        for kind in kinds
        if kind.__module__.partition(".")[0] in ("tenancy", "stacks", "cluster", "watcher")
    ]
    named = {str(vars(kind)["reason"]) for kind in status_errors if "reason" in vars(kind)}
    files = [
        ROOT / name
        for name in (
            "watcher/reconciler/status.py",
            "watcher/reconciler/reconcile.py",
            "watcher/reconciler/terminate.py",
            "cluster/plans_in_force.py",
        )
    ]
    literals = {word for file in files for word in re.findall(r'"([A-Z]\w+)"', file.read_text("utf-8"))}
    return sorted(named | set(SessionReason) | literals - _NO_REASONS)


def metrics() -> list[str]:
    files = (ROOT / "watcher" / "metrics.py", ROOT / "watcher" / "sessions" / "metrics.py")
    return [name for file in files for name in re.findall(r'"(tenancy_\w+)"', file.read_text("utf-8"))]


def alerts() -> list[str]:
    groups = prometheus_rule(PlatformSettings())["spec"]["groups"]
    return [rule["alert"] for group in groups for rule in group["rules"]]


@pytest.mark.parametrize("name", [*reasons(), *metrics(), *alerts(), *ConditionType])
def test_page_names_it(name: str) -> None:
    assert re.search(rf"`{name}(_total)?`", PAGE)


def test_names_are_found_in_the_code() -> None:
    assert {"InvalidSpec", "UpdateConflict", "ClusterRefused", "NameTaken", "CRDsMissing", "Deleting"} <= set(
        reasons()
    )
    assert "tenancy_quota_used" in metrics()
