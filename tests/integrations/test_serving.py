"""If a server's port is taken before the server listens, `serving` starts the server on another port."""

import socket
import sys
from pathlib import Path

import pytest

from embedded.controlplane.loopback import HOST, free_port, is_ok
from tests.serving import serving


def web_server(ports: list[int]) -> list[str]:
    return [sys.executable, "-m", "http.server", "--bind", HOST, str(ports[0])]


def test_program_whose_port_is_taken_gets_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        taken, free = other.getsockname()[1], free_port()
        choices = iter([taken, free])
        monkeypatch.setattr("tests.serving.free_port", lambda: next(choices))
        with serving("web", web_server, lambda ports: is_ok(ports[0], "/"), tmp_path) as running:
            assert running.ports == [free]


def test_program_that_ends_for_another_reason_is_told_with_its_log(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="no module named nothing"),
        serving(
            "none",
            lambda _: [sys.executable, "-c", "exit('no module named nothing')"],
            lambda _: False,
            tmp_path,
        ),
    ):
        pass
