"""The responses of the watcher's health checks and text endpoints."""

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from watcher.http import Check, TextEndpoint, serve_http

CHECKS = {
    "/healthz": Check(list),
    "/readyz": Check(lambda: ["not listed yet: roles"], lambda: ["plans: refused"]),
    "/noted": Check(list, lambda: ["plans: refused"]),
}
ENDPOINTS = {"/metrics": TextEndpoint(lambda: "up 1\n", "text/plain; version=0.0.4")}


@pytest.fixture
def root() -> Iterator[str]:
    server = serve_http("127.0.0.1", 0, CHECKS, ENDPOINTS)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize(
    ("path", "text"), [("/healthz", "ok\n"), ("/healthz?verbose", "ok\n"), ("/noted", "ok\nplans: refused\n")]
)
def test_passing_check_responds_with_ok_and_its_notes(root: str, path: str, text: str) -> None:
    with urllib.request.urlopen(root + path) as response:
        assert response.read().decode() == text


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/readyz", 503, "not listed yet: roles\nplans: refused\n"),
        ("/", 404, "not found; try /healthz, /readyz, /noted, /metrics\n"),
    ],
)
def test_failing_check_and_unknown_path_respond_with_the_problem(
    root: str, path: str, status: int, text: str
) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(root + path)
    assert error.value.code == status
    assert error.value.read().decode() == text


def test_text_endpoint_has_its_content_type(root: str) -> None:
    with urllib.request.urlopen(f"{root}/metrics") as response:
        assert response.read() == b"up 1\n"
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4"
