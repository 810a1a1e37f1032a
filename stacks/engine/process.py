"""One process of the warm engine: starts it, sends operations to it, and ends it."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psutil
import structlog

from stacks.command import WORK_FOLDER_VARIABLE
from stacks.engine.protocol import CANCEL, EVICT, TERMINATE, Answer, answer_from_line
from stacks.errors import EngineCrashed, EngineGone, EngineUnavailable
from tenancy.base.names import PROJECT

log = structlog.get_logger(__name__)

_START_S: Final = 60.0
# An operation that was canceled can save its state within this time.
_GRACE_S: Final = 10.0
# The path of a unix socket has at most 108 bytes on Linux, and 104 on macOS.
_SOCKET_PATH_MAX: Final = 103
_CHUNK_BYTES: Final = 1 << 16


class EngineProcess:
    """A running engine. Operations on different stacks can run in parallel. Thread-safe."""

    def __init__(self, binary: str, folder: Path, environment: Mapping[str, str], salt: str) -> None:
        """Start the process, and wait until it accepts operations. Raises EngineUnavailable if it fails."""
        self._socket = str(folder / "engine.sock")
        if len(self._socket.encode()) > _SOCKET_PATH_MAX:
            raise EngineUnavailable(
                f"the path of its socket is too long: {self._socket}; use another --run-dir"
            )
        folder.mkdir(mode=0o700)
        self._log = (folder / "engine.log").open("wb")
        arguments = ["--socket", self._socket, "--project", PROJECT, "--salt", salt]
        try:
            self._process = subprocess.Popen(
                [binary, *arguments],
                env={**os.environ, **environment, WORK_FOLDER_VARIABLE: str(folder)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineUnavailable(f"it cannot be started: {error}") from None
        self.folder = folder
        self.version = self._await_ready()
        self.operations = 0
        self._connections: set[socket.socket] = set()
        self._guard = threading.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def memory_bytes(self) -> int:
        """The resident memory of the engine and its providers."""
        total = 0
        with contextlib.suppress(psutil.Error):
            engine = psutil.Process(self.pid)
            for process in (engine, *engine.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    total += process.memory_info().rss
        return total

    def run(self, line: bytes, timeout_s: float) -> Answer | None:
        """Send a request, and wait for the answer. After the timeout, cancel the operation and return None.

        Raises EngineGone if the process accepts no requests any more, and EngineCrashed if it ends before it
        answers.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            try:
                connection.connect(self._socket)
            except OSError as error:
                raise EngineGone(f"the engine does not accept requests: {error}") from None
            with self._guard:
                self.operations += 1
                self._connections.add(connection)
            try:
                connection.sendall(line)
                return self._answer(connection, timeout_s)
            except OSError as error:
                raise EngineCrashed(f"the engine ended during the operation: {error}") from None
            finally:
                with self._guard:
                    self._connections.discard(connection)

    def _answer(self, connection: socket.socket, timeout_s: float) -> Answer | None:
        """Wait for the answer. After the timeout, cancel the operation, then end it by force."""
        is_timed_out = False
        received = bytearray()
        for limit_s, message in ((timeout_s, CANCEL), (_GRACE_S, TERMINATE), (_GRACE_S, None)):
            deadline = time.monotonic() + limit_s
            while not received.endswith(b"\n"):
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                try:
                    chunk = connection.recv(_CHUNK_BYTES)
                except TimeoutError:
                    break
                if not chunk:
                    raise EngineCrashed("the engine ended during the operation")
                received += chunk
            else:
                return None if is_timed_out else answer_from_line(received)
            is_timed_out = True
            if message is not None:
                connection.sendall(message)
        # The operation does not end, even by force. Only the end of the process can end it.
        self.kill()
        return None

    def evict_providers(self) -> None:
        """Let new operations use new provider processes."""
        with contextlib.suppress(EngineGone, EngineCrashed):
            self.run(EVICT, _GRACE_S)

    def cancel_all(self) -> None:
        """Cancel all running operations. Their callers receive answers."""
        with self._guard:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.sendall(CANCEL)

    def finish(self) -> None:
        """Let the running operations end, then end the process. Return at once."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        threading.Thread(target=self._process.wait, name="engine-end", daemon=True).start()

    def close(self, timeout_s: float) -> None:
        """End the process. Running operations are canceled."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def log_tail(self) -> str:
        """The end of the engine's error output, in one line."""
        text = (self.folder / "engine.log").read_text(encoding="utf-8", errors="replace")
        return " ".join(text.split())[-500:]

    def _await_ready(self) -> str:
        """Wait for the line that the engine prints when it is ready, and return the engine's version."""
        assert self._process.stdout is not None
        limit = threading.Timer(_START_S, self._process.kill)
        limit.start()
        line = self._process.stdout.readline()
        limit.cancel()
        if not line:
            self._process.wait()
            raise EngineUnavailable(f"it ended at the start: {self.log_tail() or 'no message'}")
        version: str = json.loads(line)["version"]
        return version.removeprefix("v")
