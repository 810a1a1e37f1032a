"""The list of tenants on the web page, in a browser: search, filters and sorting.

The parameters in the URL of the page store the search, the filters and the sorting.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.page.browser import Tab
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    """Three tenants with different names, plans and phases."""
    with shared_tenants(
        running_platform,
        tenant_manifest("list-ash", plan="basic", displayName="Grove of Ash"),
        tenant_manifest("list-oak", plan="pro", namespaces=[{"name": "a"}, {"name": "b"}]),
        tenant_manifest("list-yew", plan="no-such-plan"),
    ):
        yield


@pytest.fixture
def list_tab(tab: Tab) -> Tab:
    tab.open()
    return tab


def test_search_and_filters_narrow_the_list(list_tab: Tab) -> None:
    list_tab.search("LIST- grove")
    expect(list_tab.rows()).to_have_count(1)
    assert list_tab.names() == ["list-ash"]
    list_tab.search("list- unknownplan")
    expect(list_tab.row("list-yew")).to_be_visible()
    assert list_tab.names() == ["list-yew"]
    list_tab.search("list-")
    expect(list_tab.rows()).to_have_count(3)
    list_tab.page.get_by_label("Plan").select_option("pro")
    assert list_tab.names() == ["list-oak"]
    list_tab.page.get_by_role("button", name="Clear filters").click()
    expect(list_tab.row("list-ash")).to_be_visible()
    expect(list_tab.row("list-yew")).to_be_visible()
    list_tab.search("list-nothing-of-this-name")
    expect(list_tab.page.get_by_role("heading", name="No tenants match")).to_be_visible()


def test_a_failed_tenant_is_first_with_its_reason(list_tab: Tab) -> None:
    row = list_tab.row("list-yew")
    expect(row).to_contain_text("Failed")
    expect(row).to_contain_text("UnknownPlan")
    list_tab.search("list-")
    expect(list_tab.rows()).to_have_count(3)
    assert list_tab.names()[0] == "list-yew"
    list_tab.page.get_by_role("button", name="Failed").click()
    assert list_tab.names() == ["list-yew"]
    list_tab.page.get_by_role("button", name="Active").click()
    assert list_tab.names() == ["list-ash", "list-oak"]


def test_columns_sort_in_both_directions(list_tab: Tab) -> None:
    list_tab.search("list-")
    expect(list_tab.rows()).to_have_count(3)
    name = list_tab.page.get_by_role("columnheader", name="Tenant")
    name.get_by_role("button").click()
    assert list_tab.names() == ["list-ash", "list-oak", "list-yew"]
    expect(name).to_have_attribute("aria-sort", "ascending")
    name.get_by_role("button").click()
    assert list_tab.names() == ["list-yew", "list-oak", "list-ash"]
    expect(name).to_have_attribute("aria-sort", "descending")
    namespaces = list_tab.page.get_by_role("columnheader", name="Namespaces")
    namespaces.get_by_role("button").click()
    assert list_tab.names() == ["list-yew", "list-ash", "list-oak"]
    assert name.get_attribute("aria-sort") is None
    for title in ("Status", "Plan", "CPU", "Memory", "Storage", "Pods", "Last update"):
        head = list_tab.page.get_by_role("columnheader", name=title)
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") is not None
        assert len(list_tab.names()) == 3


def test_a_link_shows_the_same_list_again(list_tab: Tab) -> None:
    list_tab.search("list-")
    list_tab.page.get_by_label("Plan").select_option("basic")
    list_tab.page.get_by_role("columnheader", name="CPU").get_by_role("button").click()
    list_tab.page.reload()
    expect(list_tab.rows()).to_have_count(1)
    assert list_tab.names() == ["list-ash"]
    expect(list_tab.page.get_by_role("columnheader", name="CPU")).to_have_attribute("aria-sort", "ascending")


def test_quotas_are_shown_as_numbers(list_tab: Tab) -> None:
    expect(list_tab.row("list-ash").get_by_role("cell").nth(3)).to_have_text("0 / 500m")
    expect(list_tab.row("list-oak").get_by_role("cell").nth(2)).to_have_text("2")
