"""`/healthz` and `/readyz` for the kubelet, and pages of text such as `/metrics`.

A check answers 200, or 503 with what is missing, a line each. Notes follow in both cases: they are worth
a person's look, but no reason to take the watcher out of service.
"""

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

Lines = Callable[[], list[str]]


def _nothing() -> list[str]:
    return []


class Check(NamedTuple):
    # What is wrong now; nothing: all is well.
    problems: Lines
    notes: Lines = _nothing


class Page(NamedTuple):
    text: Callable[[], str]
    content_type: str


def serve_http(
    host: str, port: int, checks: Mapping[str, Check], pages: Mapping[str, Page]
) -> ThreadingHTTPServer:
    """Serves both by their path, on a thread of its own. Port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path in checks:
                problems, notes = (lines() for lines in checks[path])
                self._answer(503 if problems else 200, [*(problems or ["ok"]), *notes])
            elif path in pages:
                self._send(200, pages[path].text(), pages[path].content_type)
            else:
                self._answer(404, [f"not found; try {', '.join((*checks, *pages))}"])

        def _answer(self, status: int, lines: list[str]) -> None:
            self._send(status, "".join(f"{line}\n" for line in lines), "text/plain; charset=utf-8")

        def _send(self, status: int, text: str, content_type: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Probes come every few seconds and are no news."""

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server
