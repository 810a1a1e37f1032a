"""Previews report if two tenants claim the same name, namespace or host."""

import pytest

from tenancy.base.names import KLEFF_GROUP
from tests.cli.previews import Previews, offline_fixture, previews_fixture, rules  # noqa: F401 - fixtures
from tests.platform import NewTenant, Platform

_OFFLINE = ("tenants", "--offline")


def test_the_same_namespace_is_one_tenants(offline_previews: Previews) -> None:
    offline_previews.write("a-b", namespaces=[{"name": "c"}])
    offline_previews.write("a", namespaces=[{"name": "x"}, {"name": "b-c"}])
    preview = offline_previews.json(*_OFFLINE, exit_code=1)
    assert [(tenant["name"], tenant["outcome"]) for tenant in preview["tenants"]] == [
        ("a", "invalid"),
        ("a-b", "new"),
    ]
    (finding,) = preview["tenants"][0]["findings"]
    assert finding["rule"] == "namespace-taken"
    assert (finding["file"], finding["line"]) == ("tenants/a.yaml", 8)


def test_overlapping_hosts_are_one_tenants(offline_previews: Previews) -> None:
    offline_previews.write("one", hostnames=["*.apps.example.test"])
    offline_previews.write("two", hostnames=["two.example.test", "two.apps.example.test"])
    preview = offline_previews.json(*_OFFLINE, exit_code=1)
    (finding,) = preview["tenants"][1]["findings"]
    assert (finding["rule"], finding["line"]) == ("host-taken", 8)
    assert "belongs to tenant 'one'" in finding["message"]


@pytest.mark.parametrize("group", ["platform.ai", KLEFF_GROUP])
def test_the_same_name_is_one_tenants(offline_previews: Previews, group: str) -> None:
    offline_previews.write("twin")
    text = f"apiVersion: {group}/v1\nkind: Tenant\nmetadata:\n  name: twin\nspec: {{plan: pro}}\n"
    offline_previews.write("zwilling", text)
    preview = offline_previews.json(*_OFFLINE, exit_code=1)
    assert rules(preview) == ["name-taken"]
    assert preview["tenants"][1]["findings"][0]["line"] == 4


def test_what_live_tenants_have_is_taken(
    platform: Platform, new_tenant: NewTenant, previews: Previews
) -> None:
    platform.await_active(new_tenant("clash-holder", hostnames=["holder.clash.example.test"]))
    previews.write("grabber", hostnames=["*.clash.example.test"])
    previews.write(
        "impostor", f"apiVersion: {KLEFF_GROUP}/v1\nkind: Tenant\nmetadata: {{name: clash-holder}}\n"
    )
    preview = previews.json(exit_code=1)
    findings = {tenant["name"]: tenant["findings"][0] for tenant in preview["tenants"]}
    assert findings["grabber"]["rule"] == "host-taken"
    assert findings["clash-holder"]["rule"] == "name-taken"
    assert "tenants.platform.ai/clash-holder" in findings["clash-holder"]["message"]
    previews.write("impostor").unlink()

    # If the owner of a host gives up the host in the same change, another tenant can use the host.
    previews.write("clash-holder", hostnames=[])
    outcomes = {tenant["name"]: tenant["outcome"] for tenant in previews.json()["tenants"]}
    assert outcomes == {"grabber": "new", "clash-holder": "changed"}
