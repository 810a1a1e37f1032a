"""Finds free ports on 127.0.0.1, and sends HTTP requests to 127.0.0.1. The requests use no proxy."""

import http.client
import secrets
import socket
import ssl
from pathlib import Path

HOST = "127.0.0.1"
HTTP_TIMEOUT_S = 5.0
# Free ports are chosen from this range. It is below the ephemeral ports of Linux and macOS, so no outgoing
# connection takes a chosen port before a server binds it.
PORTS = range(20000, 32768)


def free_port() -> int:
    """A port that is free now. Another program may take the port before the caller's server binds it."""
    # Use `secrets` instead of `random`: processes with the same random seed would choose the same ports.
    while not is_free(port := secrets.choice(PORTS)):
        pass
    return port


def is_free(port: int) -> bool:
    """Whether a server can bind the port now."""
    with socket.socket() as probe:
        # With this option, a port with connections in TIME_WAIT counts as free. Servers set the option too.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def is_ok(port: int, path: str, *, ca: Path | None = None, token: str | None = None) -> bool:
    """Whether a GET request returns the status 200. False after a connection error or a TLS error.

    The request uses HTTPS if `ca` is given, and HTTP otherwise.
    """
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
