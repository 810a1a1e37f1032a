"""`/healthz` and `/readyz` for the kubelet. Each answers 200, or 503 with what is missing, a line each."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What is wrong now; nothing: all is well.
Check = Callable[[], list[str]]


def serve_http(host: str, port: int, checks: dict[str, Check]) -> ThreadingHTTPServer:
    """Serves the checks by their path, on a thread of its own. Port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            check = checks.get(self.path)
            if check is None:
                self._answer(404, "not found; try /healthz or /readyz")
            elif problems := check():
                self._answer(503, "\n".join(problems))
            else:
                self._answer(200, "ok")

        def _answer(self, status: int, text: str) -> None:
            body = f"{text}\n".encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Probes come every few seconds and are no news."""

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server
