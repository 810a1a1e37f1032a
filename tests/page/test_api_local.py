"""On a loopback address the page is open to this machine, and to no website that claims to be it."""

import pytest

from tests.page.client import PageClient

PATHS = ("/", "/tenants/acme", "/static/page.js", "/api/tenants", "/api/tenants/acme", "/api/stream")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", ""]
)
def test_foreign_host_name_is_refused(page: PageClient, path: str, host: str) -> None:
    answer = page.get(path, Host=host)
    assert answer.status == 421
    assert "127.0.0.1" in answer.data["message"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "127.0.0.1:80", "[::1]:99", "[::1]"]
)
def test_names_of_this_machine_are_taken(page: PageClient, host: str) -> None:
    assert page.get("/", Host=host).status == 200
    assert page.get("/api/tenants", Host=host).status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_answer_under_any_name(page: PageClient, path: str) -> None:
    assert page.get(path, Host="watcher.example").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_websites_can_not_have_data_fetched(page: PageClient, site: str) -> None:
    assert page.get("/api/tenants", **{"Sec-Fetch-Site": site}).status == 403
    assert page.get("/", **{"Sec-Fetch-Site": site}).status == 200
    assert page.get("/api/tenants", **{"Sec-Fetch-Site": "same-origin"}).status == 200


def test_every_answer_tells_the_browser_what_it_may_load(page: PageClient) -> None:
    for path in ("/", "/tenants/acme", "/static/page.js", "/api/tenants", "/api/tenants/page-nobody"):
        headers = page.get(path).headers
        assert headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ), path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer", path
        assert headers["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache"), path


def test_html_is_the_same_for_every_place_of_the_page(page: PageClient) -> None:
    home = page.get("/")
    assert home.headers["content-type"].startswith("text/html")
    assert page.get("/tenants/acme").text == home.text


@pytest.mark.parametrize(
    "path", ["/login", "/nothing", "/api/nothing", "/static/../routes.py", "/tenants/a/b"]
)
def test_unknown_path_is_not_found_and_names_what_there_is(page: PageClient, path: str) -> None:
    answer = page.get(path)
    assert answer.status == 404
    assert answer.text == "not found; try /healthz, /readyz, /metrics, /\n"


def test_page_changes_nothing(page: PageClient) -> None:
    for path in ("/", "/api/tenants", "/api/tenants/acme", "/api/stream"):
        assert page.post(path, {}).status == 405, path
