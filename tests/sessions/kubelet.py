"""A simulated kubelet that only serves the log of a container. KWOK serves no logs."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from embedded.controlplane.loopback import HOST
from tenancy.base.kinds import POD, Kind
from tests.sessions.sessions import Sessions

NODE = Kind("v1", "Node", "nodes", False)
NODE_NAME = "log-node"


class Kubelet(ThreadingHTTPServer):
    """Serves the lines of one log. A client can follow the log."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.changed = threading.Condition()
        self.lines: list[bytes] = []
        self.has_ended = False
        self.paths: list[str] = []

    def write(self, *lines: bytes, is_end: bool = False) -> None:
        with self.changed:
            self.lines += lines
            self.has_ended = is_end
            self.changed.notify_all()

    def read(self, start: int, is_followed: bool) -> tuple[list[bytes], bool]:
        """The lines from index `start`, and whether these are the last lines.

        If the log is followed, wait for a new line.
        """
        with self.changed:
            self.changed.wait_for(lambda: len(self.lines) > start or self.has_ended or not is_followed)
            return self.lines[start:], self.has_ended or not is_followed


class _Handler(BaseHTTPRequestHandler):
    server: Kubelet
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.server.paths.append(url.path)
        is_followed = "follow=true" in url.query
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent, is_last = 0, False
        while not is_last:
            lines, is_last = self.server.read(sent, is_followed)
            for line in lines:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
            sent += len(lines)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def kubelet_of(sessions: Sessions, certificates: Path) -> Iterator[Kubelet]:
    """Create a node with a simulated kubelet.

    KWOK does not manage this node, and the scheduler does not use it.
    """
    admin, server = sessions.platform.admin, Kubelet()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    spec = {"unschedulable": True}
    admin.create(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE_NAME}, "spec": spec})
    status = {
        "addresses": [{"type": "InternalIP", "address": HOST}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": server.server_port}},
    }
    admin.patch(NODE, NODE_NAME, {"status": status}, subresource="status")
    try:
        yield server
    finally:
        for pod in sessions.pods():
            # Delete the pod without a grace period, because no kubelet would end it during the grace period.
            path = POD.path(sessions.namespace, pod["metadata"]["name"])
            admin._transport.request("DELETE", path, {"gracePeriodSeconds": "0"})
        admin.delete(NODE, NODE_NAME)
        server.shutdown()
        server.server_close()


def bind_pod(sessions: Sessions, name: str) -> None:
    """Assign the pod of a session to the node with the simulated kubelet."""
    (pod,) = sessions.pods(name)
    metadata = {"name": pod["metadata"]["name"], "namespace": sessions.namespace}
    bindings = Kind(POD.api_version, "Binding", f"pods/{metadata['name']}/binding")
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME}
    manifest = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    sessions.platform.admin.create(bindings, manifest)
