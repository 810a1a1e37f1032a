"""The web page uses the system's theme until the user selects a theme."""

from playwright.sync_api import expect

from tests.page.browser import Tab

DARK = "rgb(15, 18, 23)"
LIGHT = "rgb(245, 246, 248)"


def test_a_chosen_theme_is_remembered(tab: Tab) -> None:
    body = tab.page.locator("body")
    button = tab.page.get_by_role("button", name="Dark theme")
    tab.page.emulate_media(color_scheme="dark")
    tab.open()
    expect(body).to_have_css("background-color", DARK)
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    expect(body).to_have_css("background-color", LIGHT)
    tab.page.reload()
    expect(body).to_have_css("background-color", LIGHT)
    expect(button).to_have_attribute("aria-pressed", "false")
