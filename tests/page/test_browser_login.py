"""The login on the web page, in a browser. The watcher listens on other addresses than loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import expect

from embedded.controlplane.loopback import HOST
from tenancy.base.kinds import Kind
from tests.page.browser import Tab
from tests.page.looks import LOOKS, Scheme, Width, axe_violations, set_look
from tests.platform import NewTenant, Platform


@pytest.fixture(scope="module", autouse=True)
def _open_platform(running_platform: Platform) -> Iterator[None]:
    """Make the watcher listen on all addresses."""
    running_platform.stop()
    running_platform.host = "0.0.0.0"
    running_platform.start("--page")
    yield
    running_platform.stop()
    running_platform.host = HOST


def sign_in(tab: Tab, token: str) -> None:
    tab.page.get_by_label("Token").fill(token)
    tab.page.get_by_role("button", name="Sign in").click()


def token_with_rights(platform: Platform) -> str:
    """A token with the right to list Tenants."""
    kubeconfig = yaml.safe_load(Path(platform.environment["KUBECONFIG"]).read_text())
    token: str = kubeconfig["users"][0]["user"]["token"]
    return token


def token_without_rights(platform: Platform) -> str:
    """A valid token without rights on Tenants."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": "default"},
        "spec": {},
    }
    request = Kind("v1", "TokenRequest", "serviceaccounts/default/token")
    token: str = platform.admin.create(request, body)["status"]["token"]
    return token


def test_a_token_gives_access_until_sign_out(platform: Platform, new_tenant: NewTenant, tab: Tab) -> None:
    platform.await_active(new_tenant("needs-login"))
    tab.expected_failures.add("/api/login")
    tab.open("/tenants/needs-login")
    expect(tab.page).to_have_url(f"{tab.address}/login")
    expect(tab.page.get_by_text("kubectl create token NAME -n NAMESPACE")).to_be_visible()
    assert tab.page.get_by_label("Token").get_attribute("type") == "password"
    sign_in(tab, "made-up")
    expect(tab.page.get_by_role("alert")).to_contain_text("rejects this token")
    sign_in(tab, token_with_rights(platform))
    expect(tab.row("needs-login")).to_contain_text("Active")
    expect(tab.page.get_by_text("system:serviceaccount:")).to_be_visible()
    tab.page.get_by_role("button", name="Sign out").click()
    expect(tab.page.get_by_role("heading", name="Sign in")).to_be_visible()
    tab.page.goto(tab.address)
    expect(tab.page).to_have_url(f"{tab.address}/login")


def test_a_user_without_rights_sees_why_and_can_sign_out(platform: Platform, tab: Tab) -> None:
    tab.expected_failures |= {"/api/tenants", "/api/stream"}
    tab.open()
    sign_in(tab, token_without_rights(platform))
    expect(tab.page.get_by_role("heading", name="Cannot show the tenants")).to_be_visible()
    expect(tab.page.get_by_text("system:serviceaccount:default:default cannot list")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Sign out")).to_be_visible()


def test_the_login_is_accessible_in_all_its_looks(tab: Tab) -> None:
    tab.expected_failures.add("/api/login")
    for scheme, width in LOOKS:
        check_login(tab, scheme, width)


def check_login(tab: Tab, scheme: Scheme, width: Width) -> None:
    set_look(tab, scheme, width)
    tab.open("/login")
    sign_in(tab, "made-up")
    expect(tab.page.get_by_role("alert")).to_contain_text("rejects this token")
    assert axe_violations(tab) == [], (scheme, width)
