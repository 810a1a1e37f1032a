"""The page as people with other eyes and hands meet it: axe finds nothing serious, in any of its looks."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.page.looks import LOOKS, Scheme, Width, faults, look
from tests.platform import Platform, tenant_manifest
from tests.shared import await_settled, shared_tenants


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    """One with a history, and one that is refused."""
    shown = tenant_manifest("axe-shown", adminUsers=["alice"], namespaces=[{"name": "a"}, {"name": "b"}])
    refused = tenant_manifest("axe-refused", plan="gold", cordoned=True)
    with shared_tenants(running_platform, shown, refused):
        shown["spec"]["resourceQuotas"] = {"cpu": "2"}
        await_settled(running_platform, running_platform.apply(shown))
        yield


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_the_list_is_accessible(scheme: Scheme, width: Width, tab: Tab) -> None:
    look(tab, scheme, width)
    tab.open()
    expect(tab.row("axe-refused")).to_contain_text("UnknownPlan")
    assert faults(tab) == []


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_a_tenant_with_its_history_open_is_accessible(scheme: Scheme, width: Width, tab: Tab) -> None:
    look(tab, scheme, width)
    tab.open("/tenants/axe-shown")
    updates = tab.section("History").locator("ol.updates > li")
    expect(updates).to_have_count(2)
    for update in updates.all():
        update.locator(".update-head").click()
        expect(update.get_by_role("heading", name="Changes")).to_be_visible()
    tab.section("Network").get_by_text("The same as a table").click()
    assert faults(tab) == []
