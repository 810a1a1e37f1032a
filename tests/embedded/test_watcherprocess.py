"""`WatcherProcess` starts and restarts the watcher, and chooses its port.

In these tests, a small HTTP server replaces the watcher.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from embedded.controlplane.loopback import free_port
from embedded.errors import SetupFailed
from embedded.run import watcher_process
from embedded.run.state_folder import StateFolder
from embedded.run.watcher_process import NAME, WatcherProcess

WATCHER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

host, port = sys.argv[sys.argv.index("--http") + 1].split(":")
HTTPServer((host, int(port)), Handler).serve_forever()
"""


@pytest.fixture
def taken_port() -> Iterator[int]:
    """The port of an HTTP server that responds to every request with an error."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatcherProcess]:
    program = tmp_path / "watcher"
    program.write_text(f"#!{sys.executable}\n{WATCHER}")
    program.chmod(0o755)
    monkeypatch.setattr(watcher_process, "sys", SimpleNamespace(executable=str(program)))
    folder = StateFolder(tmp_path / "state")
    folder.create()
    watcher = WatcherProcess(folder, os.environ)
    yield watcher
    watcher.stop()


def test_port_that_is_taken_in_between_is_replaced(
    watcher: WatcherProcess, taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = [taken_port, taken_port, free_port()]
    last = f":{ports[-1]}/"
    monkeypatch.setattr(watcher_process, "free_port", lambda: ports.pop(0))
    watcher.start()
    watcher.await_ready()
    assert watcher.page_url.endswith(last)


def test_watcher_that_is_started_again_keeps_its_page(
    watcher: WatcherProcess, eventually: Callable[[Callable[[], object]], None]
) -> None:
    watcher.start()
    watcher.await_ready()
    page, first = watcher.page_url, watcher.pids[NAME]
    os.kill(first, signal.SIGKILL)
    lines: list[str] = []
    eventually(lambda: watcher.restart_if_exited(lines.append, timeout_s=1))
    watcher.await_ready()
    assert watcher.pids[NAME] != first
    assert watcher.page_url == page
    assert page in lines[-1]


def test_watcher_that_exits_before_it_is_ready_is_not_restarted(
    watcher: WatcherProcess, tmp_path: Path
) -> None:
    (tmp_path / "watcher").write_text("#!/bin/sh\necho no such plan\nexit 2\n")
    watcher.start()
    with pytest.raises(SetupFailed, match=r"(?s)ended with exit code 2.*no such plan"):
        watcher.await_ready()
