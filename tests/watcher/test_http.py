"""The kubelet's questions get an answer that says what is missing."""

import urllib.error
import urllib.request

import pytest

from watcher.http import serve_http


def test_checks_answer_by_their_path() -> None:
    server = serve_http("127.0.0.1", 0, {"/healthz": list, "/readyz": lambda: ["not listed yet: roles"]})
    root = f"http://127.0.0.1:{server.server_port}"
    try:
        with urllib.request.urlopen(f"{root}/healthz") as answer:
            assert answer.read() == b"ok\n"
        for path, status, text in (("/readyz", 503, "not listed yet: roles"), ("/", 404, "try /healthz")):
            with pytest.raises(urllib.error.HTTPError) as refusal:
                urllib.request.urlopen(root + path)
            assert refusal.value.code == status
            assert text in refusal.value.read().decode()
    finally:
        server.shutdown()
