"""The web page and `tenancy show` show the usage of a tenant's quotas."""

from playwright.sync_api import expect

from tests.cli.conftest import Run
from tests.page.browser import Tab
from tests.platform import NewTenant, Platform
from tests.usage.cluster import await_phase, start_pods

NAMESPACE = "tenant-seen-a"


def test_page_and_show_report_growing_usage(
    platform: Platform, new_tenant: NewTenant, tab: Tab, tenancy: Run
) -> None:
    platform.await_active(new_tenant("seen", plan="basic", namespaces=[{"name": "a"}, {"name": "b"}]))
    tab.open("/tenants/seen")
    first = tab.section("Namespaces").get_by_role("article").nth(0)
    expect(first).to_contain_text("0 / 20")
    await_phase(platform, NAMESPACE, start_pods(platform, NAMESPACE, 4), "Running")
    expect(first).to_contain_text("4 / 20")
    expect(first).to_contain_text("100m / 500m")
    tab.open("/")
    expect(tab.row("seen")).to_contain_text("4 / 40")
    expect(tab.row("seen")).to_contain_text("100m / 1")

    output = tenancy("show", "seen").stdout
    assert ["pods", "4/40", "██" + 18 * "░", "10%"] in [line.split() for line in output.splitlines()]
    assert "pods 4/20" in next(line for line in output.splitlines() if line.startswith(NAMESPACE))
