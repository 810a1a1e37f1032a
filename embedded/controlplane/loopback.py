"""Ports on 127.0.0.1: finding free ones, and asking what listens there whether it is ready.

Used by the control plane and by the session. Never goes through the proxy of the environment.
"""

import http.client
import secrets
import socket
import ssl
from pathlib import Path

HOST = "127.0.0.1"
HTTP_TIMEOUT_S = 5.0
# Below the ports that Linux and macOS give to outgoing connections, one of which could otherwise take the
# port between its choice and its use.
PORTS = range(20000, 32768)


def free_port() -> int:
    """Free now; another program may still take it before its use."""
    # Not from `random`: processes that seed it alike would choose alike.
    while not is_free(port := secrets.choice(PORTS)):
        pass
    return port


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        # As servers do: connections that have ended do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


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
