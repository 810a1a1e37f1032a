"""The page as people with other eyes and hands meet it: axe finds nothing serious, in any of its looks."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.page.looks import LOOKS, Scheme, Width, faults, look
from tests.platform import Platform, tenant_manifest


@pytest.fixture
def axed(platform: Platform, tab: Tab) -> Tab:
    """A tab, while there are a tenant with a history and one that is refused. All tests here share them."""
    spec: dict[str, Any] = {"adminUsers": ["alice"], "namespaces": [{"name": "a"}, {"name": "b"}]}
    if platform.tenant(tenant_manifest("axe-shown")) is None:
        platform.await_active(platform.apply(tenant_manifest("axe-shown", **spec)))
    changed = tenant_manifest("axe-shown", **spec, resourceQuotas={"cpu": "2"})
    platform.await_active(platform.apply(changed))
    refused = tenant_manifest("axe-refused", plan="gold", cordoned=True)
    platform.apply(refused)
    platform.await_condition(refused, "UnknownPlan")
    return tab


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_the_list_is_accessible(scheme: Scheme, width: Width, axed: Tab) -> None:
    look(axed, scheme, width)
    axed.open()
    expect(axed.row("axe-refused")).to_contain_text("UnknownPlan")
    assert faults(axed) == []


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_a_tenant_with_its_history_open_is_accessible(scheme: Scheme, width: Width, axed: Tab) -> None:
    look(axed, scheme, width)
    axed.open("/tenants/axe-shown")
    updates = axed.section("History").locator("ol.updates > li")
    expect(updates).to_have_count(2)
    for update in updates.all():
        update.locator(".update-head").click()
        expect(update.get_by_role("heading", name="Changes")).to_be_visible()
    axed.section("Network").get_by_text("The same as a table").click()
    assert faults(axed) == []
