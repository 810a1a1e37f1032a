"""A way to the watcher that a test can close and open again, as a network does."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from embedded.controlplane.loopback import HOST

_READ_BYTES = 65536


class Detour:
    """Passes connections on to a port. While it is closed, new ones are refused, and the others are cut."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        # Never listens: while the detour is closed, it keeps the port from others.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._reserved.bind((HOST, 0))
        self._port: int = self._reserved.getsockname()[1]
        self._ends: list[socket.socket] = []
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
        # What waits in `accept` or `recv` is woken by a shutdown, not by a close.
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._ends.clear()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((HOST, self._target_port))
                self._ends += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_pass_on, args=(source, sink), daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_READ_BYTES):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
