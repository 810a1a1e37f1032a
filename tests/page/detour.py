"""A proxy to the watcher. Tests close and reopen it to simulate a network failure."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from embedded.controlplane.loopback import HOST

_READ_BYTES = 65536


class Detour:
    """Forwards connections to a port. `close` ends open connections, and new connections are then refused."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        # This socket does not listen. It reserves the port while the proxy is closed.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._reserved.bind((HOST, 0))
        self._port: int = self._reserved.getsockname()[1]
        self._connections: list[socket.socket] = []
        self.open()

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self._port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._reserved.close()

    def open(self) -> None:
        self._listener = socket.create_server((HOST, self._port), reuse_port=True)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        # A shutdown wakes threads that wait in `accept` or `recv`. A close alone does not wake them.
        for connection in (self._listener, *self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._connections.clear()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection((HOST, self._target_port))
                self._connections += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=_forward, args=(source, sink), daemon=True).start()


def _forward(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_READ_BYTES):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
