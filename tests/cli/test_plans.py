"""`tenancy plans`, `tenancy plans show` and `tenancy plans impact`."""

import json
from pathlib import Path

import pytest

from tenancy.plans import SHIPPED_PLANS
from tests.cli.previews import Previews, previews_fixture  # noqa: F401 - fixtures
from tests.platform import NewTenant, Platform


@pytest.fixture
def new_plans(previews: Previews) -> Path:
    return previews.folder / "new.yaml"


def test_plans_are_listed_with_what_they_give_and_who_is_on_them(
    platform: Platform, new_tenant: NewTenant, previews: Previews
) -> None:
    platform.await_active(new_tenant("planned", plan="pro"))
    result = previews.run("plans")
    assert result.returncode == 0, result.stderr
    header, *lines = result.stdout.splitlines()
    assert header.split()[:5] == ["PLAN", "CPU", "MEMORY", "STORAGE", "PODS"]
    basic = next(line.split() for line in lines if line.startswith("basic"))
    assert basic[:7] == ["basic", "500m", "1Gi", "5Gi", "20", "5", "restricted"]
    assert "ingressController, monitoring" in result.stdout

    rows = {row["name"]: row for row in json.loads(previews.run("plans", "-o", "json").stdout)}
    assert list(rows) == ["basic", "enterprise", "pro"]
    assert "planned" in rows["pro"]["tenants"]
    assert rows["pro"]["quotas"]["limits.cpu"] == "8"


def test_a_plan_is_shown_with_its_limits_and_the_models_of_sessions(previews: Previews) -> None:
    result = previews.run("plans", "show", "pro")
    assert result.returncode == 0, result.stderr
    text = result.stdout
    assert text.startswith("pro\nTenants  ")
    lines = [line.split() for line in text.splitlines()]
    for line in (
        ["maxNamespaces", "20"],
        ["podSecurity", "restricted"],
        ["serviceTypes", "[ClusterIP,", "LoadBalancer]"],
        ["tenant-quota", "limits.cpu", "8"],
        ["cpu", "50m", "500m", "4"],
        ["research", "large", "registry.example/ai/research:1", "-", "-", "-", "default"],
        ["standard", "image", "of", "the", "type", "MODEL=standard", "-"],
    ):
        assert line in lines, line
    assert "at most 3 sessions at the same time. Ended sessions are kept for 30 days.\n" in text

    data = json.loads(previews.run("plans", "show", "pro", "-o", "json").stdout)
    assert data["settings"]["maxSessions"] == 3
    assert data["sessions"]["types"]["research"]["model"] == "large"
    result = previews.run("plans", "show", "gold")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "error: there is no plan 'gold'; known: basic, enterprise, pro\n"


def test_the_impact_of_other_plans_is_told_tenant_by_tenant(
    platform: Platform, new_tenant: NewTenant, previews: Previews, new_plans: Path
) -> None:
    platform.await_active(new_tenant("struck", plan="enterprise"))
    # The new plans do not affect this tenant: its plan is unknown before and after the change.
    platform.await_condition(new_tenant("plans-lost", plan="none-such"), "UnknownPlan")
    new_plans.write_text(SHIPPED_PLANS.read_text())
    result = previews.run("plans", "impact", "new.yaml", "--output", "json")
    assert result.returncode == 0, result.stdout + result.stderr

    new_plans.write_text(SHIPPED_PLANS.read_text().replace('cpu: "32"', 'cpu: "16"'))
    result = previews.run("plans", "impact", "new.yaml", "--output", "json")
    assert result.returncode == 2, result.stdout + result.stderr
    tenants = {tenant["name"]: tenant for tenant in json.loads(result.stdout)["tenants"]}
    assert tenants["plans-lost"]["outcome"] == "unchanged"
    (change,) = tenants["struck"]["changes"]
    assert change["fields"] == [{"path": "spec.hard.cpu", "before": "32", "after": "16"}]

    # It is an error to remove a plan that a tenant uses.
    head, _, _ = SHIPPED_PLANS.read_text().partition("  enterprise:")
    new_plans.write_text(head)
    result = previews.run("plans", "impact", "new.yaml", "--output", "markdown")
    assert result.returncode == 1
    assert "there is no plan 'enterprise'" in result.stdout
    assert "(new.yaml&#58;" in result.stdout


def test_plans_that_can_not_be_used_are_an_error(previews: Previews, new_plans: Path) -> None:
    new_plans.write_text("plans: {}\n")
    result = previews.run("plans", "impact", "new.yaml")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: plans file")
