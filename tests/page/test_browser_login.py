"""The way in by browser, where the page is served to more than this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import expect

from embedded.controlplane.loopback import HOST
from tenancy.base.kinds import Kind
from tests.page.browser import Tab
from tests.page.looks import LOOKS, Scheme, Width, faults, look
from tests.platform import NewTenant, Platform


@pytest.fixture(scope="module", autouse=True)
def _open_platform(running_platform: Platform) -> Iterator[None]:
    """The watcher listens on all addresses."""
    running_platform.stop()
    running_platform.host = "0.0.0.0"
    running_platform.start("--page")
    yield
    running_platform.stop()
    running_platform.host = HOST


def sign_in(tab: Tab, token: str) -> None:
    tab.page.get_by_label("Token").fill(token)
    tab.page.get_by_role("button", name="Sign in").click()


def watchers_token(platform: Platform) -> str:
    """A token of somebody who may list tenants."""
    kubeconfig = yaml.safe_load(Path(platform.environment["KUBECONFIG"]).read_text())
    token: str = kubeconfig["users"][0]["user"]["token"]
    return token


def strangers_token(platform: Platform) -> str:
    """A token of somebody whom the cluster knows, and who may see nothing."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": "default"},
        "spec": {},
    }
    request = Kind("v1", "TokenRequest", "serviceaccounts/default/token")
    token: str = platform.admin.create(request, body)["status"]["token"]
    return token


def test_a_token_opens_the_page_until_one_signs_out(
    platform: Platform, new_tenant: NewTenant, tab: Tab
) -> None:
    platform.await_active(new_tenant("behind-a-door"))
    tab.refused.add("/api/login")
    tab.open("/tenants/behind-a-door")
    expect(tab.page).to_have_url(f"{tab.address}/login")
    expect(tab.page.get_by_text("kubectl create token NAME -n NAMESPACE")).to_be_visible()
    assert tab.page.get_by_label("Token").get_attribute("type") == "password"
    sign_in(tab, "made-up")
    expect(tab.page.get_by_role("alert")).to_contain_text("does not know this token")
    sign_in(tab, watchers_token(platform))
    expect(tab.row("behind-a-door")).to_contain_text("Active")
    expect(tab.page.get_by_text("system:serviceaccount:")).to_be_visible()
    tab.page.get_by_role("button", name="Sign out").click()
    expect(tab.page.get_by_role("heading", name="Sign in")).to_be_visible()
    tab.page.goto(tab.address)
    expect(tab.page).to_have_url(f"{tab.address}/login")


def test_whoever_may_see_nothing_is_told_so_and_can_sign_out(platform: Platform, tab: Tab) -> None:
    tab.refused |= {"/api/tenants", "/api/stream"}
    tab.open()
    sign_in(tab, strangers_token(platform))
    expect(tab.page.get_by_role("heading", name="The tenants cannot be shown")).to_be_visible()
    expect(tab.page.get_by_text("system:serviceaccount:default:default may not list")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Sign out")).to_be_visible()


def test_the_login_is_accessible_in_all_its_looks(tab: Tab) -> None:
    tab.refused.add("/api/login")
    for scheme, width in LOOKS:
        check_login(tab, scheme, width)


def check_login(tab: Tab, scheme: Scheme, width: Width) -> None:
    look(tab, scheme, width)
    tab.open("/login")
    sign_in(tab, "made-up")
    expect(tab.page.get_by_role("alert")).to_contain_text("does not know this token")
    assert faults(tab) == [], (scheme, width)
