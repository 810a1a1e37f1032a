"""The list in a browser: searched, filtered and sorted, and the address remembers how."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    """Three tenants that differ in all that can be searched for."""
    with shared_tenants(
        running_platform,
        tenant_manifest("list-ash", plan="basic", displayName="Grove of Ash"),
        tenant_manifest("list-oak", plan="pro", namespaces=[{"name": "a"}, {"name": "b"}]),
        tenant_manifest("list-yew", plan="no-such-plan"),
    ):
        yield


@pytest.fixture
def listed(tab: Tab) -> Tab:
    tab.open()
    return tab


def test_search_and_filters_narrow_the_list(listed: Tab) -> None:
    listed.search("LIST- grove")
    expect(listed.rows()).to_have_count(1)
    assert listed.names() == ["list-ash"]
    listed.search("list- unknownplan")
    expect(listed.row("list-yew")).to_be_visible()
    assert listed.names() == ["list-yew"]
    listed.search("list-")
    expect(listed.rows()).to_have_count(3)
    listed.page.get_by_label("Plan").select_option("pro")
    assert listed.names() == ["list-oak"]
    listed.page.get_by_role("button", name="Clear filters").click()
    expect(listed.row("list-ash")).to_be_visible()
    expect(listed.row("list-yew")).to_be_visible()
    listed.search("list-nothing-of-this-name")
    expect(listed.page.get_by_role("heading", name="No tenant fits")).to_be_visible()


def test_a_failed_tenant_is_seen_at_once_with_its_reason(listed: Tab) -> None:
    row = listed.row("list-yew")
    expect(row).to_contain_text("Failed")
    expect(row).to_contain_text("UnknownPlan")
    listed.search("list-")
    expect(listed.rows()).to_have_count(3)
    assert listed.names()[0] == "list-yew"
    listed.page.get_by_role("button", name="Failed").click()
    assert listed.names() == ["list-yew"]
    listed.page.get_by_role("button", name="Active").click()
    assert listed.names() == ["list-ash", "list-oak"]


def test_columns_sort_both_ways_and_say_so(listed: Tab) -> None:
    listed.search("list-")
    expect(listed.rows()).to_have_count(3)
    name = listed.page.get_by_role("columnheader", name="Tenant")
    name.get_by_role("button").click()
    assert listed.names() == ["list-ash", "list-oak", "list-yew"]
    expect(name).to_have_attribute("aria-sort", "ascending")
    name.get_by_role("button").click()
    assert listed.names() == ["list-yew", "list-oak", "list-ash"]
    expect(name).to_have_attribute("aria-sort", "descending")
    namespaces = listed.page.get_by_role("columnheader", name="Namespaces")
    namespaces.get_by_role("button").click()
    assert listed.names() == ["list-yew", "list-ash", "list-oak"]
    assert name.get_attribute("aria-sort") is None
    for title in ("Status", "Plan", "CPU", "Memory", "Storage", "Pods", "Last update"):
        head = listed.page.get_by_role("columnheader", name=title)
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") is not None
        assert len(listed.names()) == 3


def test_a_link_shows_the_same_list_again(listed: Tab) -> None:
    listed.search("list-")
    listed.page.get_by_label("Plan").select_option("basic")
    listed.page.get_by_role("columnheader", name="CPU").get_by_role("button").click()
    listed.page.reload()
    expect(listed.rows()).to_have_count(1)
    assert listed.names() == ["list-ash"]
    expect(listed.page.get_by_role("columnheader", name="CPU")).to_have_attribute("aria-sort", "ascending")


def test_quotas_are_told_in_figures(listed: Tab) -> None:
    expect(listed.row("list-ash").get_by_role("cell").nth(3)).to_have_text("0 / 500m")
    expect(listed.row("list-oak").get_by_role("cell").nth(2)).to_have_text("2")
