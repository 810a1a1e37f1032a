"""An open web page shows changes in the cluster without a reload."""

import re

from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.page.detour import Detour
from tests.platform import NewTenant, Platform, tenant_manifest


def mark(tab: Tab) -> None:
    """Set a variable in the page. A reload of the page would delete this variable."""
    tab.page.evaluate("window.isSamePage = true")


def is_marked(tab: Tab) -> bool:
    return tab.page.evaluate("window.isSamePage === true") is True


def test_a_changed_tenant_changes_its_row_in_place(
    platform: Platform, new_tenant: NewTenant, tab: Tab
) -> None:
    platform.await_active(new_tenant("live-change", plan="basic", displayName="Before"))
    tab.open()
    row = tab.row("live-change")
    expect(row).to_contain_text("Before")
    mark(tab)
    row.evaluate("element => { element.isSameRow = true }")
    platform.apply(tenant_manifest("live-change", plan="pro", displayName="After", cordoned=True))
    expect(row).to_contain_text("After")
    expect(row.get_by_role("cell", name="pro", exact=True)).to_be_visible()
    expect(row).to_contain_text("Cordoned")
    expect(row).to_contain_text("spec generation 2")
    assert row.evaluate("element => element.isSameRow") is True
    assert is_marked(tab)


def test_a_new_tenant_appears_and_a_deleted_one_disappears(platform: Platform, tab: Tab) -> None:
    manifest = tenant_manifest("live-new")
    tab.open()
    expect(tab.page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    mark(tab)
    expect(tab.row("live-new")).to_have_count(0)
    platform.apply(manifest)
    expect(tab.row("live-new")).to_contain_text("Active")
    platform.verify_and_abandon([manifest])
    expect(tab.row("live-new")).to_have_count(0)
    platform.await_gone(manifest)
    assert is_marked(tab)


def test_a_tenants_own_page_follows_it(platform: Platform, new_tenant: NewTenant, tab: Tab) -> None:
    platform.await_active(new_tenant("live-page", namespaces=[{"name": "a"}]))
    tab.open("/tenants/live-page")
    expect(tab.section("History").get_by_text("#1")).to_be_visible()
    mark(tab)
    platform.apply(tenant_manifest("live-page", namespaces=[{"name": "a"}, {"name": "b"}]))
    expect(tab.section("Namespaces").get_by_role("heading", name="tenant-live-page-b")).to_be_visible()
    expect(tab.section("History").get_by_text("#2")).to_be_visible()
    assert is_marked(tab)


def test_open_page_of_a_deleted_tenant_reports_the_deletion(platform: Platform, tab: Tab) -> None:
    # A rejected tenant has no namespaces, so its deletion is fast.
    manifest = tenant_manifest("live-gone", plan="none-such", displayName="Going")
    platform.apply(manifest)
    platform.await_condition(manifest, "UnknownPlan")
    tab.open("/tenants/live-gone")
    expect(tab.page.get_by_text("Going", exact=True)).to_be_visible()
    tab.expected_failures |= {"/api/tenants/live-gone", "/api/tenants/live-gone/history"}
    platform.delete(manifest)
    expect(tab.page.get_by_role("heading", name="Tenant live-gone was deleted")).to_be_visible()
    tab.page.get_by_role("main").get_by_role("link", name="All tenants").last.click()
    expect(tab.page.get_by_role("heading", name="Tenants", level=1)).to_be_visible()


def test_after_a_lost_connection_the_page_catches_up(
    platform: Platform, new_tenant: NewTenant, tab: Tab
) -> None:
    tab.expected_failures |= {"/api/stream", "/api/tenants"}
    with Detour(platform.port) as detour:
        tab.address = detour.address
        tab.open()
        link = tab.page.locator("#live")
        expect(link).to_have_text(re.compile("^Live"))
        mark(tab)
        detour.close()
        expect(link).to_have_text("Reconnecting…")
        platform.await_active(new_tenant("live-meanwhile"))
        expect(tab.row("live-meanwhile")).to_have_count(0)
        detour.open()
        expect(link).to_have_text(re.compile("^Live"))
        expect(tab.row("live-meanwhile")).to_contain_text("Active")
        assert is_marked(tab)
