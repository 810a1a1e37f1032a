"""The web page can be used with the keyboard: from the list to a tenant and its history, and back."""

from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.platform import NewTenant, Platform


def test_from_the_search_to_a_tenant_and_back(platform: Platform, new_tenant: NewTenant, tab: Tab) -> None:
    platform.await_active(new_tenant("typed"))
    tab.open()
    expect(tab.row("typed")).to_be_visible()
    keyboard = tab.page.keyboard
    keyboard.press("/")
    expect(tab.page.get_by_role("searchbox")).to_be_focused()
    keyboard.type("typed")
    expect(tab.rows()).to_have_count(1)
    link = tab.page.get_by_role("link", name="typed", exact=True)
    press_until(tab, "Tab", "a.name")
    expect(link).to_be_focused()
    keyboard.press("Enter")
    expect(tab.page.get_by_role("heading", name="typed", level=1)).to_be_focused()
    newest = tab.section("History").locator(".update-head").first
    expect(newest).to_be_visible()
    press_until(tab, "Tab", ".update-head")
    keyboard.press("Enter")
    expect(tab.section("History").get_by_role("heading", name="Changes")).to_be_visible()
    press_until(tab, "Shift+Tab", "a.back")
    keyboard.press("Enter")
    expect(link).to_be_focused()
    expect(tab.page.get_by_role("searchbox")).to_have_value("typed")


def test_the_first_tab_stop_skips_to_the_content(tab: Tab) -> None:
    tab.open()
    tab.page.keyboard.press("Tab")
    expect(tab.page.get_by_role("link", name="Skip to content")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("main")).to_be_focused()


def press_until(tab: Tab, key: str, selector: str) -> None:
    """Press the key until an element that matches the selector has the focus. Fails after 40 times."""
    for _ in range(40):
        tab.page.keyboard.press(key)
        if tab.page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached with {key}")
