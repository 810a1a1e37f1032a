"""The history on a tenant's web page, in a browser: the changes of each update, and the drift log."""

import re

from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually


def test_an_update_opens_to_the_changed_field_before_and_after(
    platform: Platform, new_tenant: NewTenant, tab: Tab
) -> None:
    platform.await_active(new_tenant("browser-past", resourceQuotas={"cpu": "2"}))
    platform.await_active(platform.apply(tenant_manifest("browser-past", resourceQuotas={"cpu": "3"})))
    tab.open("/tenants/browser-past")
    updates = tab.section("History").locator("ol.updates > li")
    expect(updates).to_have_count(2)
    newest = updates.first
    expect(newest.locator(".update-head")).to_contain_text("#2")
    expect(newest.locator(".update-head")).to_contain_text("spec generation 2")
    expect(newest.locator(".update-head")).to_contain_text("succeeded")
    newest.locator(".update-head").click()
    changed = newest.locator(".field-change").filter(has_text=re.compile(r"spec\.hard\.cpu"))
    expect(changed.locator("del")).to_have_text('before: − "2"')
    expect(changed.locator("ins")).to_have_text('after: + "3"')
    spec = newest.get_by_role("group", name="Spec", exact=True)
    expect(spec.locator("del")).to_contain_text('cpu: "2"')
    expect(spec.locator("ins")).to_contain_text('cpu: "3"')
    updates.last.locator(".update-head").click()
    expect(updates.last).to_contain_text("objects created")
    expect(updates.last).to_contain_text("Namespace tenant-browser-past")

    # A rejected spec causes no update, but it is part of the history.
    platform.apply(tenant_manifest("browser-past", plan="none-such", resourceQuotas={"cpu": "3"}))
    expect(updates).to_have_count(3)
    rejected = updates.first
    expect(rejected.locator(".update-head")).to_contain_text("rejected")
    rejected.locator(".update-head").click()
    expect(rejected).to_contain_text("unknown, via manager tenancy-cli")
    expect(rejected).to_contain_text("UnknownPlan: spec.plan: there is no plan 'none-such'")
    expect(rejected.locator("ins")).to_contain_text("plan: none-such")


def test_a_repair_is_in_the_drift_log(platform: Platform, new_tenant: NewTenant, tab: Tab) -> None:
    platform.await_active(new_tenant("browser-repaired", adminUsers=["alice"]))
    tab.open("/tenants/browser-repaired")
    drift = tab.section("Drift")
    expect(drift).to_contain_text("None now")
    expect(drift.get_by_role("listitem")).to_have_count(0)
    platform.patch(
        *("ResourceQuota", "tenant-browser-repaired", "tenant-quota"), {"spec": {"hard": {"cpu": "64"}}}
    )
    repair = drift.get_by_role("list", name="Drift log").get_by_role("listitem")
    expect(repair).to_contain_text("ResourceQuota tenant-browser-repaired/tenant-quota spec.hard.cpu changed")
    expect(repair).to_contain_text("repaired")
    repair.get_by_role("button", name="update #2").click()
    update = tab.section("History").locator("#update-2")
    expect(update.locator(".update-head")).to_be_focused()
    expect(update.locator(".field-change").locator("del")).to_contain_text("64")
    eventually(lambda: platform.is_settled(tenant_manifest("browser-repaired")), "the repair is over")
