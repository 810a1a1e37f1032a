"""On other addresses than loopback, the web page requires a token with the right to read Tenants."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tenancy.base.kinds import RBAC_GROUP, Kind
from tests.kubeconfigs import service_account_token
from tests.own_cluster import platform_on_own_cluster
from tests.page.accounts import RULES, create_token, is_allowed
from tests.page.client import DATA, PageClient, Response, as_bearer, cookie_of, names
from tests.platform import Platform, tenant_manifest
from tests.shared import await_settled
from tests.waiting import eventually

BINDING = Kind(f"{RBAC_GROUP}/v1", "ClusterRoleBinding", "clusterrolebindings", False)
INVALID_TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl"
RESOURCES = "tenants.platform.ai and tenants.kleff.kleff.io"


@pytest.fixture(scope="module")
def open_platform(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with two tenants. Its watcher listens on all addresses."""
    with platform_on_own_cluster(tools, tmp_path_factory, "login") as platform:
        platform.host = "0.0.0.0"
        platform.start("--page")
        manifests = [tenant_manifest(name, plan="basic", paused=True) for name in ("acme", "other")]
        await_settled(platform, *map(platform.apply, manifests))
        yield platform


@pytest.fixture(scope="module")
def tokens(open_platform: Platform) -> dict[str, str]:
    """A token for each account, keyed by the account's name.

    The rights of the accounts are already in effect.
    """
    tokens = {name: create_token(open_platform, name, rules) for name, rules in RULES.items()}
    metrics = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    tokens["page-prometheus"] = service_account_token(open_platform.admin, "page-prometheus", metrics)
    for name, rules in RULES.items():
        for rule in rules:
            eventually(
                lambda name=name, rule=rule: is_allowed(open_platform, name, rule),  # type: ignore[misc]
                f"the rights of {name} are in effect",
            )
    return tokens


@pytest.fixture
def page(open_platform: Platform) -> PageClient:
    return PageClient(open_platform.port)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer"}, {"Authorization": "Basic YTpi"}])
def test_request_without_a_token_gets_no_data_and_a_page_redirects_to_the_login(
    page: PageClient, headers: dict[str, str]
) -> None:
    for path in DATA:
        response = page.get(path, **headers)
        assert response.status == 401, path
        assert "log in" in response.data["message"]
    for path in ("/", "/tenants/acme"):
        response = page.get(path, **headers)
        assert (response.status, response.headers["location"]) == (303, "/login"), path
    assert page.get("/login").status == 200
    assert page.get("/static/page.js").status == 200


@pytest.mark.parametrize("token", [INVALID_TOKEN, "x", "§", "a b", '{"token": 1}'])
def test_invalid_token_is_rejected(page: PageClient, token: str) -> None:
    stranger = PageClient(page.port, {"Authorization": f"Bearer {token}".encode().decode("latin-1")})
    for path in DATA:
        assert stranger.get(path).status == 401, path
    response = page.post("/api/login", {"token": token})
    assert response.status == 401
    assert "set-cookie" not in response.headers


def test_missing_right_is_named(page: PageClient, tokens: dict[str, str]) -> None:
    nobody = as_bearer(page, tokens["page-nobody"])
    user = "system:serviceaccount:default:page-nobody"
    # The page shows tenants of both API groups, so the right to list the Tenants of one group is not enough.
    assert as_bearer(page, tokens["page-half"]).get("/api/tenants").status == 403
    for path in ("/api/tenants", "/api/stream"):
        response = nobody.get(path)
        assert response.status == 403
        assert (
            f"{user} cannot list tenants.platform.ai and tenants.kleff.kleff.io:" in response.data["message"]
        )
    for path in ("/api/tenants/acme", "/api/tenants/acme/history", "/api/tenants/not-there"):
        response = nobody.get(path)
        assert response.status == 403
        assert f"{user} cannot get {RESOURCES}" in response.data["message"]


def test_reader_sees_all_tenants(open_platform: Platform, page: PageClient, tokens: dict[str, str]) -> None:
    reader = as_bearer(page, tokens["page-reader"])
    response = reader.get("/api/tenants")
    assert names(response) == ["acme", "other"]
    assert response.data["user"] == "system:serviceaccount:default:page-reader"
    assert reader.get("/api/tenants/acme").data["row"]["name"] == "acme"
    updates = reader.get("/api/tenants/acme/history").data["updates"]
    assert {update["version"] for update in updates} == {None}, "the tenant is paused, so it has no updates"
    assert reader.get("/api/tenants/not-there").status == 404
    assert reader.get("/").status == 200
    with reader.stream() as stream:
        open_platform.apply(tenant_manifest("other", plan="pro", paused=True))
        stream.next("tenant", "other", plan="pro")


def test_friend_of_one_tenant_sees_that_one_alone(page: PageClient, tokens: dict[str, str]) -> None:
    friend = as_bearer(page, tokens["page-friend"])
    assert friend.get("/tenants/acme").status == 200
    assert friend.get("/api/tenants/acme").status == 200
    assert friend.get("/api/tenants/acme/history").status == 200
    assert friend.get("/api/usage?tenant=acme").status == 200
    others = ("/api/tenants/other", "/api/tenants/other/history", "/api/usage?tenant=other")
    for path in ("/api/tenants", "/api/stream", "/api/usage", *others):
        assert friend.get(path).status == 403, path


def test_login_sets_a_cookie_and_logout_deletes_it(page: PageClient, tokens: dict[str, str]) -> None:
    response = page.post("/api/login", {"token": f" {tokens['page-reader']}\n"})
    assert response.status == 200
    assert response.data == {"user": "system:serviceaccount:default:page-reader"}
    attributes = {part.strip().lower() for part in response.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"httponly", "path=/", "samesite=strict"}
    person = PageClient(page.port, {"Cookie": cookie_of(response)})
    assert person.get("/").status == 200
    assert person.get("/api/tenants").data["user"] == "system:serviceaccount:default:page-reader"
    logout = person.post("/api/logout", {})
    assert logout.status == 200
    assert "max-age=0" in logout.headers["set-cookie"].lower()


def test_cookie_is_secure_if_the_browser_uses_https(page: PageClient, tokens: dict[str, str]) -> None:
    response = page.post("/api/login", {"token": tokens["page-reader"]}, **{"X-Forwarded-Proto": "https"})
    assert "secure" in response.headers["set-cookie"].lower()


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "text/plain", ""])
@pytest.mark.parametrize("path", ["/api/login", "/api/logout"])
def test_form_of_another_website_is_rejected(
    page: PageClient, tokens: dict[str, str], path: str, content_type: str
) -> None:
    response = page.post(path, {"token": tokens["page-reader"]}, content_type)
    assert response.status == 415
    assert "application/json" in response.data["message"]
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize(("body", "status"), [([], 400), ({"token": 1}, 400), ({"token": "x" * 9000}, 413)])
def test_malformed_login_is_rejected(page: PageClient, body: Any, status: int) -> None:
    assert page.post("/api/login", body).status == status


def test_deeply_nested_login_is_rejected(page: PageClient) -> None:
    headers = {"Content-Type": "application/json"}
    assert page.send("POST", "/api/login", "[" * 8000, headers).status == 400


def test_revoked_right_ends_the_stream(
    open_platform: Platform, page: PageClient, tokens: dict[str, str]
) -> None:
    token = tokens["page-leaver"]
    leaver = as_bearer(page, token)
    assert leaver.get("/api/tenants").status == 200
    with leaver.stream() as stream:
        open_platform.admin.delete(BINDING, "page-leaver")
        # The reviews of a token are cached for 30 seconds. A logout removes them from the cache, see
        # test_auth.
        person = PageClient(page.port, {"Cookie": cookie_of(page.post("/api/login", {"token": token}))})

        def is_rejected() -> bool:
            person.post("/api/logout", {})
            return leaver.get("/api/tenants").status == 403

        eventually(is_rejected, "the right is revoked")
        open_platform.apply(tenant_manifest("acme", plan="basic", paused=True, displayName="Hidden"))
        stream.await_end()
    assert not any(row["displayName"] == "Hidden" for _, row in stream.seen)


def test_flood_of_made_up_tokens_does_not_stop_users(page: PageClient, tokens: dict[str, str]) -> None:
    reader = as_bearer(page, tokens["page-reader"])
    assert reader.get("/api/tenants").status == 200

    def guess(number: int) -> Response:
        headers = {"Authorization": f"Bearer made-up-{number}"}
        return PageClient(page.port, headers, "127.0.0.2").get("/api/tenants")

    with ThreadPoolExecutor(16) as attackers:
        guesses = attackers.map(guess, range(300))
        assert {reader.get("/api/tenants").status for _ in range(20)} == {200}
        assert page.post("/api/login", {"token": tokens["page-friend"]}).status == 200
        responses = list(guesses)
    checked = sum(response.status == 401 for response in responses)
    limited = [response for response in responses if response.status == 429]
    assert (checked, len(limited)) in {(20, 280), (21, 279)}, "two checks can run at once"
    assert limited[0].headers["retry-after"] == "60"
    assert "too many invalid tokens from your address" in limited[0].data["message"]


def test_no_token_is_logged(open_platform: Platform, page: PageClient, tokens: dict[str, str]) -> None:
    used = (*tokens.values(), INVALID_TOKEN)
    for token in used:
        as_bearer(page, token).get("/api/tenants")
        page.post("/api/login", {"token": token})
    log = open_platform.logs[-1].read_text()
    assert log
    assert not any(token in log for token in used)


def test_probes_need_no_token(page: PageClient) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert page.get(path).status == 200, path


def test_page_is_off_and_metrics_need_a_right_with_these_options(
    open_platform: Platform, tokens: dict[str, str]
) -> None:
    open_platform.stop()
    open_platform.start("--protect-metrics")
    try:
        page = PageClient(open_platform.port)
        assert page.get("/healthz").status == page.get("/readyz").status == 200
        assert page.get("/metrics").status == 401
        assert as_bearer(page, INVALID_TOKEN).get("/metrics").status == 401
        response = as_bearer(page, tokens["page-reader"]).get("/metrics")
        assert response.status == 403
        assert "page-reader cannot get /metrics: ask for a ClusterRole" in response.text
        assert "tenancy_tenants" in as_bearer(page, tokens["page-prometheus"]).get("/metrics").text
        reader = as_bearer(PageClient(open_platform.port), tokens["page-reader"])
        for path in ("/", "/login", "/static/page.js", "/tenants/acme", *DATA):
            response = reader.get(path)
            assert response.status == 404, path
            assert response.text == "not found; try /healthz, /readyz, /metrics\n"
    finally:
        open_platform.stop()
        open_platform.start("--page")
