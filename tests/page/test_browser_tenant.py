"""The web page of a tenant: its sections, its network diagram, and the notice for an unknown tenant."""

from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.platform import NewTenant, Platform


def test_tenant_page_shows_namespaces_conditions_and_access(
    platform: Platform, new_tenant: NewTenant, tab: Tab
) -> None:
    manifest = new_tenant(
        "browser-shown",
        plan="pro",
        displayName="The Shown",
        adminUsers=["alice"],
        access=[{"kind": "Group", "name": "night-shift", "role": "operator", "namespaces": ["prod"]}],
        namespaces=[{"name": "dev", "purpose": "development"}, {"name": "prod", "purpose": "production"}],
        resourceQuotas={"cpu": "3"},
    )
    platform.await_active(manifest)
    tab.open()
    tab.page.get_by_role("link", name="browser-shown", exact=True).click()
    expect(tab.page).to_have_url(f"{tab.address}/tenants/browser-shown")
    expect(tab.page.get_by_role("heading", name="browser-shown", level=1)).to_be_visible()
    expect(tab.page.get_by_text("The Shown", exact=True)).to_be_visible()
    namespaces = tab.section("Namespaces").get_by_role("article")
    expect(namespaces).to_have_count(2)
    expect(namespaces.nth(1)).to_contain_text("tenant-browser-shown-prod")
    expect(namespaces.nth(1)).to_contain_text("production")
    expect(namespaces.nth(1)).to_contain_text("Ready")
    ready = tab.section("Conditions").get_by_role("listitem").filter(has_text="Applied").first
    expect(ready).to_contain_text("Ready")
    expect(ready).to_contain_text("True")
    access = tab.section("Access")
    expect(access.get_by_role("row").filter(has_text="alice")).to_contain_text("admin")
    expect(access.get_by_role("row").filter(has_text="alice")).to_contain_text("all 2 namespaces")
    expect(access.get_by_role("row").filter(has_text="night-shift")).to_contain_text("operator")
    expect(access.get_by_role("row").filter(has_text="night-shift")).to_contain_text(
        "tenant-browser-shown-prod"
    )
    spec = tab.section("Spec")
    own = spec.get_by_role("group", name="Set in the Tenant").inner_text()
    from_plan = spec.get_by_role("group", name="From plan pro").inner_text()
    assert {"plan: pro", "displayName: The Shown", '  cpu: "3"'} <= set(own.splitlines())
    assert "  - {name: dev, purpose: development, weight: 1}" in own
    assert {"podSecurity: restricted", "maxNamespaces: 20", '      pods: "50"'} <= set(from_plan.splitlines())
    assert "requests.cpu" not in from_plan, "the Tenant sets the quota for CPU"


def test_network_diagram_and_table_show_the_same_connections(
    platform: Platform, new_tenant: NewTenant, tab: Tab
) -> None:
    egress = [{"cidr": "203.0.113.0/24", "ports": [{"port": 443}]}]
    platform.await_active(new_tenant("pictured", network={"egress": egress}))
    tab.open("/tenants/pictured")
    network = tab.section("Network")
    diagram = network.get_by_role("img", name="Allowed connections of pictured")
    for label in ("tenant-pictured", "203.0.113.0/24", "443/TCP", "no connection allowed"):
        expect(diagram.locator("text").filter(has_text=label).first).to_be_visible()
    assert "203.0.113.0/24: 443/TCP" in diagram.locator("desc").inner_html()
    network.get_by_text("Show as a table").click()
    outside = network.get_by_role("row").filter(has_text="203.0.113.0/24").first
    expect(outside).to_contain_text("tenant-pictured")
    expect(outside).to_contain_text("443/TCP")
    expect(network.get_by_role("row").filter(has_text="other tenants")).to_contain_text("none")


def test_a_rejected_tenant_shows_the_reason(platform: Platform, new_tenant: NewTenant, tab: Tab) -> None:
    platform.await_condition(new_tenant("rejected-plan", plan="gold"), "UnknownPlan")
    tab.open("/tenants/rejected-plan")
    expect(tab.page.get_by_text("there is no plan 'gold'").first).to_be_visible()
    expect(tab.section("History")).to_contain_text("spec generation 1")
    expect(tab.section("History")).to_contain_text("rejected")
    expect(tab.section("History")).not_to_contain_text("not finished")


def test_page_separates_a_spec_that_is_not_applied_from_drift(
    platform: Platform, new_tenant: NewTenant, tab: Tab
) -> None:
    manifest = new_tenant("browser-paused", plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro", "paused": True}})
    tab.open()
    expect(tab.row("browser-paused")).to_contain_text("Not applied")
    tab.open("/tenants/browser-paused")
    pending, drift = tab.section("Pending changes"), tab.section("Drift")
    expect(pending).to_contain_text("Spec not applied")
    expect(pending).to_contain_text("set spec.paused to false to apply it")
    expect(pending).to_contain_text("spec.hard.cpu")
    expect(drift).to_contain_text("None now")
    platform.remove("Role", "tenant-browser-paused", "tenant-viewer")
    expect(drift).to_contain_text("Drifted now")
    expect(drift).to_contain_text("tenant-viewer")
    expect(pending).not_to_contain_text("tenant-viewer")


def test_an_unknown_tenant_links_to_the_list(tab: Tab) -> None:
    tab.expected_failures |= {"/api/tenants/nobody", "/api/tenants/nobody/history"}
    tab.open("/tenants/nobody")
    expect(tab.page.get_by_role("heading", name="There is no tenant nobody")).to_be_visible()
    tab.page.get_by_role("link", name="All tenants").last.click()
    expect(tab.page.get_by_role("heading", name="Tenants", level=1)).to_be_visible()
