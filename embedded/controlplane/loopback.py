"""Ports on 127.0.0.1: finds free ones, and sends HTTP requests to them without a proxy."""

import http.client
import secrets
import socket
import ssl
from pathlib import Path

HOST = "127.0.0.1"
HTTP_TIMEOUT_S = 5.0
# Below the ephemeral ports of Linux and macOS, so that no outgoing connection takes a chosen port before it
# is bound.
PORTS = range(20000, 32768)


def free_port() -> int:
    """A port that is free now. Another program may take it before it is bound."""
    # Not `random`: processes with the same seed would choose the same ports.
    while not is_free(port := secrets.choice(PORTS)):
        pass
    return port


def is_free(port: int) -> bool:
    """Whether a server can bind the port now."""
    with socket.socket() as probe:
        # Servers set this option too: it ignores closed connections in TIME_WAIT.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def is_ok(port: int, path: str, *, ca: Path | None = None, token: str | None = None) -> bool:
    """Whether a GET request returns 200, over TLS if `ca` is given. False on connection or TLS errors."""
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
