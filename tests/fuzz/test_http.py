"""Hostile requests to every route of the watcher's HTTP server, over real sockets.

No request causes a 5xx status code, a traceback or an unexpected error in the log. Clients that send or read
slowly do not delay other clients.
"""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import strategies as st
from structlog.testing import capture_logs

from embedded.controlplane.loopback import HOST
from tests.fuzz.strategies import generated
from tests.page.client import PageClient
from tests.platform import Platform
from watcher.http import Check, TextEndpoint, serve_http
from watcher.page.auth import AccessReviews
from watcher.page.live_feed import Feed
from watcher.page.login import Login
from watcher.page.routes import PageRoutes

ROUTES = [
    *("/", "/login", "/healthz", "/readyz", "/metrics", "/tenants/acme", "/static/page.js", "/api/tenants"),
    *("/api/tenants/acme", "/api/tenants/acme/history", "/api/usage", "/api/stream", "/api/login"),
    "/api/logout",
]
SUFFIXES = [
    *("", "", "/", "//", "/..", "/../..", "/%2e%2e/%2e%2e/http.py", "/%00", "%0d%0aX:%20y", "/%ff%fe", "/%"),
    *(
        "?",
        "?since=0",
        "?since=%00&until=9999-12-31T23:59:59%2B23:59",
        "?tenant=%F0%9F%98%80",
        "?tenant=" + "a" * 9000,
    ),
    *("#a", "?" + "a=b&" * 2000, "/" + "a/" * 2000, "\\..\\..", ";a=b", "/${tenant.name}", "/-", "/'"),
]
METHODS = [
    "GET",
    "GET",
    "GET",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "get",
    "A" * 9000,
]
HEADERS = [
    *("Host: evil.example", "Host:", "Host: [::1", "Host: localhost:99999999999", "Host: a\r\nHost: b"),
    *("Content-Length: -1", "Content-Length: a", "Content-Length: 99999999999999999999", "Content-Length: 5"),
    *(
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Expect: 100-continue",
        "Upgrade: websocket",
    ),
    *("Connection: Upgrade, HTTP2-Settings", "Cookie: tenancy-token=\xff; a", "Cookie: " + "a=b; " * 4000),
    *(
        "Authorization: Bearer \xff",
        "Authorization: Bearer " + "a" * 9000,
        "Authorization: Basic !",
        "Bad Name: x",
    ),
    *(
        "Range: bytes=0-1",
        "Range: bytes=9-1,-",
        "Range: bytes=" + "0-," * 2000,
        "If-Range: \xff",
        "If-Modified-Since: x",
    ),
    *(
        "If-None-Match: " + '"a",' * 3000,
        "Content-Type: application/json",
        "Sec-Fetch-Site: cross-site",
        " folded",
    ),
    *("X-Forwarded-Proto: https,\x01", "Accept: */*;q=x", "Content-Encoding: gzip"),
]
BODIES = [
    *(b"", b"{", b"[" * 9000, b'{"token": 5}', b'{"token": "a"}', b'{"token": "\\ud800"}', b"\xff" * 100),
    *(b"5\r\nabcde\r\n0\r\n\r\n", b"zz\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 100_000),
]


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """Generate the bytes of one request. Most requests are valid HTTP."""
    path = draw(st.sampled_from(ROUTES)) + draw(st.sampled_from(SUFFIXES))
    version = draw(st.sampled_from(["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", ""]))
    headers = ["Host: localhost", *draw(st.lists(st.sampled_from(HEADERS), max_size=3))]
    lines = [f"{draw(st.sampled_from(METHODS))} {path} {version}", *headers, "Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + draw(st.sampled_from(BODIES))


def status_of(port: int, request: bytes) -> int:
    """Send the bytes, and return the status code of the response.

    Returns 0 if the server closes the connection without a response.
    """
    with socket.create_connection((HOST, port), timeout=60) as client, contextlib.suppress(ConnectionError):
        client.sendall(request)
        response = b""
        while b"\r\n" not in response and (data := client.recv(4096)):
            response += data
        return int(response.split()[1]) if response else 0
    return 0


@pytest.fixture
def login_port(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server that requires a login.

    No request in these tests has a valid token, so the page shows no data.
    """
    monkeypatch.setattr("watcher.http._HEADERS_TIMEOUT_S", 0.5)
    monkeypatch.setattr("watcher.page.login._BODY_TIMEOUT_S", 0.5)
    login = Login(AccessReviews(platform.admin))
    routes = PageRoutes(cast(Any, None), Feed(lambda _: None), cast(Any, None), list, dict, login).routes()
    server = serve_http(
        HOST, 0, {"/healthz": Check(list)}, {"/metrics": TextEndpoint(str, "text/plain")}, routes
    )
    yield server.server_port
    server.shutdown()


def expect_no_errors(port: int, count: int, *, is_random: bool = False) -> None:
    sent = generated(requests(), count, is_random=is_random)
    assert len(set(sent)) > count / 2
    statuses = [status_of(port, request) for request in sent]
    failed = [
        (status, request[:500]) for status, request in zip(statuses, sent, strict=True) if status >= 500
    ]
    assert not failed
    assert {200, 400, 404, 405} <= set(statuses)
    assert PageClient(port).get("/healthz").text == "ok\n"


def test_no_request_fails_in_the_server(platform: Platform) -> None:
    earlier_log = platform.logs[-1].read_text()
    expect_no_errors(platform.port, 150)
    assert "Traceback" not in platform.logs[-1].read_text().removeprefix(earlier_log)


def test_no_request_fails_in_a_server_with_the_login(login_port: int) -> None:
    with capture_logs() as logs:
        expect_no_errors(login_port, 150)
    assert logs == []


def test_invalid_data_after_a_request_causes_no_error(
    login_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The server responds with 400 and closes the connection while the handler is still running."""
    request = b" /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    with capture_logs() as logs:
        statuses = {status_of(login_port, method + request) for method in (b"GET", b"POST", b"HEAD") * 5}
    assert statuses == {400}
    assert logs == []
    # asyncio logs exceptions of the protocol.
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.long
def test_thousands_of_requests_do_not_fail_in_the_server(platform: Platform, login_port: int) -> None:
    earlier_log = platform.logs[-1].read_text()
    expect_no_errors(platform.port, 3000, is_random=True)
    expect_no_errors(login_port, 3000, is_random=True)
    assert "Traceback" not in platform.logs[-1].read_text().removeprefix(earlier_log)


def test_slow_clients_do_not_delay_others_and_are_disconnected(login_port: int) -> None:
    body = (
        b"POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    )
    late_body = b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"
    with contextlib.ExitStack() as stack:
        clients: list[socket.socket] = []
        for start in [b"", b"GET", b"GET / HTTP/1.1\r\nHost: a\r\n", body, late_body] * 20:
            client = stack.enter_context(socket.create_connection((HOST, login_port), timeout=60))
            client.sendall(start)
            clients.append(client)
        # This client does not read the response.
        unread = stack.enter_context(socket.create_connection((HOST, login_port), timeout=60))
        unread.sendall(b"GET /static/page.js HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
        assert PageClient(login_port).get("/healthz").text == "ok\n"

        def is_closed(client: socket.socket) -> bool:
            with contextlib.suppress(ConnectionError):
                while client.recv(4096):
                    pass
            return True

        assert all(map(is_closed, clients))
