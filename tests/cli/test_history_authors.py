"""`tenancy history` shows the author, the message and the result of each change to a spec."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenancy.base.kinds import TENANTS
from tests.cli.applying import write
from tests.cli.conftest import Run
from tests.platform import Platform, tenant_manifest
from tests.shared import await_settled

NAME = "authored-spec"
BASIC = tenant_manifest(NAME, plan="basic")


@pytest.fixture
def _tenant(platform: Platform) -> Iterator[None]:
    yield
    platform.verify_and_abandon([BASIC])


def entries(tenancy: Run) -> list[dict[str, Any]]:
    result = tenancy("history", NAME, "-o", "json")
    assert result.returncode == 0, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


def rows(tenancy: Run) -> list[tuple[Any, ...]]:
    return [
        (entry["version"], entry["cause"], entry["by"], entry["message"], entry["result"])
        for entry in entries(tenancy)
    ]


@pytest.mark.usefixtures("_tenant")
def test_each_change_of_the_spec_has_its_own_author_message_and_result(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    def run_as(user: str, *arguments: str) -> None:
        result = tenancy("--as", user, "--as-group", "system:masters", *arguments)
        assert result.returncode in (0, 3), result.stderr

    # A command records its user as the author. If a command does not change the spec, the author stays the
    # same.
    file = write(tmp_path / "tenant.yaml", BASIC)
    run_as("alice", "apply", file, "-m", "first: basic")
    run_as("bob", "apply", file, "-m", "changes nothing")
    expected: list[tuple[Any, ...]] = [(1, "spec generation 1", "alice", "first: basic", "succeeded")]
    assert rows(tenancy) == expected

    # Other clients record no author. The annotations about the commit are not verified.
    commit = {"platform.ai/change-author": "ann", "platform.ai/change-message": "more admins"}
    synced = {**BASIC, "metadata": {"name": NAME, "annotations": commit}}
    synced["spec"] = {"plan": "basic", "adminUsers": ["eve"]}
    platform.admin.apply(synced, field_manager="argocd-controller")
    platform.await_active(BASIC)
    author = "ann (according to the commit), applied via manager argocd-controller"
    expected.insert(0, (2, "spec generation 2", author, "more admins", "succeeded"))
    assert rows(tenancy) == expected

    # `dave` is the author of a change during a pause, although another user resumes the tenant.
    run_as("carol", "pause", NAME, "-m", "maintenance")
    pro = write(tmp_path / "pro.yaml", tenant_manifest(NAME, plan="pro"))
    run_as("dave", "apply", pro, "--force-conflicts")
    platform.stop()
    platform.start()
    run_as("erin", "resume", NAME)
    await_settled(platform, BASIC)
    expected = [
        (3, "spec generation 5", "erin", "", "succeeded"),
        (None, "spec generation 4", "dave", "", "in update 3"),
        (None, "spec generation 3", "carol", "maintenance", "in update 3"),
        *expected,
    ]
    assert rows(tenancy) == expected

    # A rejected spec causes no update.
    platform.admin.patch(TENANTS[0], NAME, {"spec": {"plan": "none-such"}}, field_manager="kubectl-edit")
    platform.await_condition(BASIC, "UnknownPlan")
    unknown = "unknown, via manager kubectl-edit"
    rejected = (None, "spec generation 6", unknown, "", "rejected")
    assert rows(tenancy) == [rejected, *expected]
    newest = entries(tenancy)[0]
    assert (newest["reason"], newest["spec"]["plan"]) == ("UnknownPlan", "none-such")
    assert "spec.plan" in newest["detail"]
    assert "rejected: UnknownPlan" in tenancy("history", NAME).stdout

    # The counts match the displayed changes.
    for entry in entries(tenancy):
        assert entry["counts"] == Counter(change["operation"] for change in entry["changes"])
    shown = tenancy("history", NAME, "--diff").stdout
    assert "no update  rejected: UnknownPlan\n" in shown
    assert "  message  first: basic\n" in shown
