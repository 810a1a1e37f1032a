"""Ports on 127.0.0.1: finding free ones, and asking what listens there whether it is ready.

Used by the control plane and by the session. Never goes through the proxy of the environment.
"""

import http.client
import socket
import ssl
from pathlib import Path

HOST = "127.0.0.1"
HTTP_TIMEOUT_S = 5.0


def free_port() -> int:
    """Free now; another program may still take it before its use."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def is_ok(port: int, path: str, *, ca: Path | None = None, token: str | None = None) -> bool:
    """Whether GET answers 200, over TLS where `ca` is given. What isn't there, or isn't trusted, is not."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        if ca is None:
            connection = http.client.HTTPConnection(HOST, port, timeout=HTTP_TIMEOUT_S)
        else:
            tls = ssl.create_default_context(cafile=str(ca))
            connection = http.client.HTTPSConnection(HOST, port, timeout=HTTP_TIMEOUT_S, context=tls)
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status == http.client.OK
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return False
