"""The reference page of the status lists every reason, metric, alert and condition."""

import re
from collections.abc import Iterator

import pytest

from cluster.errors import ClusterError
from embedded.environment import ROOT
from stacks.errors import StackError
from tenancy.base.errors import TenancyError
from tenancy.base.reasons import Reason
from tenancy.platform.prometheus import prometheus_rule
from tenancy.platform.settings import PlatformSettings
from tenancy.spec.aisession import SessionReason
from tenancy.spec.tenant_status import ConditionType
from watcher.reconciler import contested_objects, drift_repair

PAGE = (ROOT / "docs" / "reference" / "status.md").read_text(encoding="utf-8")
# These modules define errors. They must be imported, so that `__subclasses__` finds the errors.
_WITH_ERRORS = (contested_objects, drift_repair)


def class_and_subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for child in kind.__subclasses__():
        yield from class_and_subclasses(child)


def reasons() -> list[str]:
    """The reasons of Tenants, of AISessions and of Events.

    They include the reasons of all errors of the watcher.
    """
    kinds = [kind for root in (TenancyError, StackError, ClusterError) for kind in class_and_subclasses(root)]
    # Exclude the errors in `cli`. No status contains these errors.
    theirs = [
        kind
        for kind in kinds
        if kind.__module__.partition(".")[0] in ("tenancy", "stacks", "cluster", "watcher")
    ]
    named = {str(vars(kind)["reason"]) for kind in theirs if "reason" in vars(kind)}
    return sorted(named | set(Reason) | set(SessionReason))


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
