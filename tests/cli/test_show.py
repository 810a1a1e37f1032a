"""`tenancy show` prints the details of one tenant."""

import json
from collections.abc import Iterator

import pytest
import yaml

from tests.cli.conftest import Run
from tests.platform import Platform, tenant_manifest
from tests.shared import await_settled, shared_tenants

SHOWN = tenant_manifest(
    "shown",
    displayName="Shown & Sons",
    namespaces=[{"name": "dev"}, {"name": "live", "purpose": "production"}],
    access=[{"kind": "Group", "name": "readers", "role": "viewer", "namespaces": ["live"]}],
)


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    """Three tenants: a healthy tenant, a paused tenant with drift, and a tenant with an invalid spec."""
    skewed = tenant_manifest("skewed")
    with shared_tenants(running_platform, SHOWN, skewed, tenant_manifest("planless", plan="none-such")):
        skewed["spec"]["paused"] = True
        await_settled(running_platform, running_platform.apply(skewed))
        running_platform.remove("NetworkPolicy", "tenant-skewed", "default-deny-all")
        running_platform.await_condition(skewed, "Paused", "Drifted")
        yield


def section(text: str, title: str) -> list[list[str]]:
    """The words of each line in the section, without the section's header line."""
    lines = text.split(f"\n{title}\n")[1].split("\n\n")[0].splitlines()
    return [line.split() for line in lines[1:]]


def test_show_tells_all_about_a_tenant(tenancy: Run) -> None:
    result = tenancy("show", "shown")
    assert result.returncode == 0, result.stderr
    text = result.stdout
    assert text.startswith("shown  Shown & Sons\nPhase   Active\nPlan    basic\nAge ")
    assert "\nStack   tenant-shown\n" in text
    assert section(text, "Quotas")[0] == ["cpu", "0/1", "░" * 20, "0%"]
    namespaces = [line[:5] for line in section(text, "Namespaces")]
    assert namespaces == [
        ["tenant-shown-dev", "development", "yes", "cpu", "0/500m,"],
        ["tenant-shown-live", "production", "yes", "cpu", "0/500m,"],
    ]
    assert ["Ready", "True", "Applied"] in [line[:3] for line in section(text, "Conditions")]
    assert ["Group", "readers", "viewer", "tenant-shown-live"] in section(text, "Access")
    (update,) = section(text, "Last updates")
    assert (update[0], update[2:5]) == ("1", ["spec", "generation", "1"])
    assert text.endswith(
        "\nManual changes (drift)\nnone: all objects are as last applied\n"
        "\nChanges that are not applied yet\nnone: the spec is applied\n"
    )

    events = section(text, "Events")
    assert ["Normal", "Applied"] in [event[:2] for event in events]

    data = json.loads(tenancy("show", "shown", "-o", "json").stdout)
    assert [event["reason"] for event in data["events"]] == [event[1] for event in events]
    assert data == json.loads(tenancy("describe", "shown", "-o", "json").stdout)
    assert data["row"]["displayName"] == "Shown & Sons"
    assert data["updates"][0]["spec"]["displayName"] == "Shown & Sons"
    assert (data["drift"], data["pendingChanges"]) == ([], [])


def test_show_tells_drift_and_use_of_quotas(tenancy: Run) -> None:
    result = tenancy("show", "skewed", FORCE_COLOR="1", TERM="xterm")
    assert result.returncode == 0, result.stderr
    assert "\x1b[32mActive\x1b[0m\x1b[33m, paused, drifted\x1b[0m" in result.stdout
    assert "\x1b[32m░░░" in result.stdout
    assert "+ NetworkPolicy tenant-skewed/default-deny-all" in result.stdout
    assert " ago" in result.stdout

    data = yaml.safe_load(tenancy("show", "skewed", "-o", "yaml").stdout)
    assert [(change["operation"], change["name"]) for change in data["drift"]] == [
        ("create", "default-deny-all")
    ]


def test_show_without_a_backend_says_why_it_knows_one_update_only(tenancy: Run) -> None:
    result = tenancy("show", "shown", PULUMI_BACKEND_URL="")
    assert result.returncode == 0, result.stderr
    assert "Earlier updates cannot be read: no state backend: set PULUMI_BACKEND_URL" in result.stdout
    line = section(result.stdout, "Last update")[0]
    assert (line[0], line[2:]) == ("1", ["spec", "generation", "1", "succeeded"])


def test_show_of_a_failed_tenant_says_what_is_wrong(tenancy: Run) -> None:
    result = tenancy("show", "planless")
    assert result.returncode == 0, result.stderr
    assert (
        "Phase   Failed, spec not applied\nReason  UnknownPlan: spec.plan: there is no plan" in result.stdout
    )
    assert "unknown: spec.plan: there is no plan 'none-such'" in result.stdout
    (change,) = section(result.stdout, "Last updates")
    assert (change[0], change[-3:]) == ("-", ["rejected:", "UnknownPlan", "-"])
