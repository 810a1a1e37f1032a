"""The kubelet's questions get an answer that says what is missing."""

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
PAGES = {"/metrics": TextEndpoint(lambda: "up 1\n", "text/plain; version=0.0.4")}


@pytest.fixture
def root() -> Iterator[str]:
    server = serve_http("127.0.0.1", 0, CHECKS, PAGES)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize(
    ("path", "text"), [("/healthz", "ok\n"), ("/healthz?verbose", "ok\n"), ("/noted", "ok\nplans: refused\n")]
)
def test_all_is_well_with_its_notes(root: str, path: str, text: str) -> None:
    with urllib.request.urlopen(root + path) as answer:
        assert answer.read().decode() == text


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/readyz", 503, "not listed yet: roles\nplans: refused\n"),
        ("/", 404, "not found; try /healthz, /readyz, /noted, /metrics\n"),
    ],
)
def test_what_is_wrong_is_told(root: str, path: str, status: int, text: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(root + path)
    assert refusal.value.code == status
    assert refusal.value.read().decode() == text


def test_page_is_served_as_what_it_is(root: str) -> None:
    with urllib.request.urlopen(f"{root}/metrics") as answer:
        assert answer.read() == b"up 1\n"
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4"
