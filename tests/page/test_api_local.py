"""On a loopback address, the web page requires no login.

It rejects requests whose Host header contains another host.
"""

import pytest

from tests.page.client import PageClient

PATHS = ("/", "/tenants/acme", "/static/page.js", "/api/tenants", "/api/tenants/acme", "/api/stream")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", ""]
)
def test_foreign_host_name_is_rejected(page: PageClient, path: str, host: str) -> None:
    response = page.get(path, Host=host)
    assert response.status == 421
    assert "127.0.0.1" in response.data["message"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "127.0.0.1:80", "[::1]:99", "[::1]"]
)
def test_loopback_host_names_are_accepted(page: PageClient, host: str) -> None:
    assert page.get("/", Host=host).status == 200
    assert page.get("/api/tenants", Host=host).status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_accept_any_host_name(page: PageClient, path: str) -> None:
    assert page.get(path, Host="watcher.example").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_websites_cannot_fetch_data(page: PageClient, site: str) -> None:
    assert page.get("/api/tenants", **{"Sec-Fetch-Site": site}).status == 403
    assert page.get("/", **{"Sec-Fetch-Site": site}).status == 200
    assert page.get("/api/tenants", **{"Sec-Fetch-Site": "same-origin"}).status == 200


def test_every_response_has_the_security_headers(page: PageClient) -> None:
    for path in ("/", "/tenants/acme", "/static/page.js", "/api/tenants", "/api/tenants/page-nobody"):
        headers = page.get(path).headers
        assert headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ), path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer", path
        assert headers["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache"), path


def test_all_pages_have_the_same_html(page: PageClient) -> None:
    list_page = page.get("/")
    assert list_page.headers["content-type"].startswith("text/html")
    assert page.get("/tenants/acme").text == list_page.text


@pytest.mark.parametrize(
    "path", ["/login", "/nothing", "/api/nothing", "/static/../routes.py", "/tenants/a/b"]
)
def test_unknown_path_is_not_found_and_lists_known_paths(page: PageClient, path: str) -> None:
    response = page.get(path)
    assert response.status == 404
    assert response.text == "not found; try /healthz, /readyz, /metrics, /\n"


def test_page_changes_nothing(page: PageClient) -> None:
    for path in ("/", "/api/tenants", "/api/tenants/acme", "/api/stream"):
        assert page.post(path, {}).status == 405, path
