"""In all color schemes and widths, axe finds no serious accessibility violation on the web page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.page.looks import LOOKS, Scheme, Width, axe_violations, set_look
from tests.platform import Platform, tenant_manifest
from tests.shared import await_settled, shared_tenants


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    """Two tenants: a tenant with a history, and a rejected tenant."""
    shown = tenant_manifest("axe-shown", adminUsers=["alice"], namespaces=[{"name": "a"}, {"name": "b"}])
    rejected = tenant_manifest("axe-rejected", plan="gold", cordoned=True)
    with shared_tenants(running_platform, shown, rejected):
        shown["spec"]["resourceQuotas"] = {"cpu": "2"}
        await_settled(running_platform, running_platform.apply(shown))
        yield


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_the_list_is_accessible(scheme: Scheme, width: Width, tab: Tab) -> None:
    set_look(tab, scheme, width)
    tab.open()
    expect(tab.row("axe-rejected")).to_contain_text("UnknownPlan")
    assert axe_violations(tab) == []


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_a_tenant_with_its_history_open_is_accessible(scheme: Scheme, width: Width, tab: Tab) -> None:
    set_look(tab, scheme, width)
    tab.open("/tenants/axe-shown")
    updates = tab.section("History").locator("ol.updates > li")
    expect(updates).to_have_count(2)
    for update in updates.all():
        update.locator(".update-head").click()
        expect(update.get_by_role("heading", name="Changes")).to_be_visible()
    tab.section("Network").get_by_text("Show as a table").click()
    assert axe_violations(tab) == []
