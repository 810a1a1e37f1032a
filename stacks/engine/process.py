"""Starts a process of the warm engine, sends operations to the process, and ends the process."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import psutil
import structlog

from stacks.command import WORK_FOLDER_VARIABLE
from stacks.engine import protocol
from stacks.engine.protocol import EVICT, STATUS, Answer, answer_from_line
from stacks.errors import EngineCrashed, EngineGone, EngineUnavailable, without_secrets
from tenancy.base.names import PROJECT

log = structlog.get_logger(__name__)

# `engine/server.go` reads the salt from this variable.
_SALT_VARIABLE: Final = "TENANCY_ENGINE_SALT"
_START_S: Final = 60.0
# A process that fails to start ends within this time.
_END_S: Final = 1.0
# The time in which the engine must answer a request that is not an operation.
_ANSWER_S: Final = 10.0
# The path of a unix socket has at most 108 bytes on Linux, and 104 on macOS.
_SOCKET_PATH_MAX: Final = 103
_CHUNK_BYTES: Final = 1 << 16


class EngineProcess:
    """A process of the warm engine. Operations on different stacks can run in parallel. Thread-safe."""

    def __init__(self, binary: str, folder: Path, environment: Mapping[str, str], salt: str) -> None:
        """Start the process, and wait until it accepts operations.

        Raises EngineUnavailable if the process does not start.
        """
        self._socket = str(folder / "engine.sock")
        if len(self._socket.encode()) > _SOCKET_PATH_MAX:
            raise EngineUnavailable(
                f"the path of the socket {self._socket} is too long; set --run-dir to a shorter path"
            )
        self._folder = folder
        self.operations = 0
        self._connections: set[socket.socket] = set()
        self._guard = threading.Lock()
        folder.mkdir(mode=0o700)
        arguments = ["--socket", self._socket, "--project", PROJECT]
        try:
            with self._log.open("wb") as output:
                self._process = subprocess.Popen(
                    [binary, *arguments],
                    env={
                        **os.environ,
                        **environment,
                        WORK_FOLDER_VARIABLE: str(folder),
                        _SALT_VARIABLE: salt,
                    },
                    # Pulumi looks for a Pulumi.yaml in the working folder and its parents.
                    cwd="/",
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=output,
                    start_new_session=True,
                )
        except OSError as error:
            self._remove_folder()
            raise EngineUnavailable(f"the engine cannot be started: {error}") from None
        self.version = self._await_ready()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def memory_bytes(self) -> int:
        """The resident memory of the engine process and of the provider processes that it has started."""
        total = 0
        with contextlib.suppress(psutil.Error):
            engine = psutil.Process(self.pid)
            for process in (engine, *engine.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    total += process.memory_info().rss
        return total

    def run(self, line: bytes, timeout_s: float) -> Answer | None:
        """Send the request `line`, and return the answer.

        If there is no answer within `timeout_s`, cancel the operation and return None. Raises EngineGone if
        the process does not accept the connection. Raises EngineCrashed if the process ends before it has
        answered.
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
                connection.settimeout(timeout_s)
                connection.sendall(line)
                return self._answer(connection, timeout_s)
            except TimeoutError:
                # The process does not even read requests.
                self.kill()
                raise EngineCrashed("the engine did not accept the operation in time") from None
            except OSError as error:
                problem = self.log_tail() or error
                raise EngineCrashed(f"the engine ended during the operation: {problem}") from None
            finally:
                with self._guard:
                    self._connections.discard(connection)

    def _answer(self, connection: socket.socket, timeout_s: float) -> Answer | None:
        """Wait for the answer. After the timeout, cancel the operation and return None.

        If the canceled operation does not end, the engine ends it by force. If this takes too long, too, kill
        the process.
        """
        if line := _received_line(connection, timeout_s):
            return answer_from_line(line)
        _cancel(connection)
        if not _received_line(connection, 2 * protocol.GRACE_S):
            self.kill()
        return None

    def evict_providers(self) -> None:
        """Make the next operation start a new provider process."""
        with contextlib.suppress(EngineGone, EngineCrashed):
            self.run(EVICT, _ANSWER_S)

    def status(self) -> Mapping[str, Any]:
        """The state of the engine, such as the stacks of the running operations.

        Empty if the engine does not answer.
        """
        with contextlib.suppress(EngineGone, EngineCrashed):
            answer = self.run(STATUS, _ANSWER_S)
            return answer.status if answer else {}
        return {}

    def cancel_all(self) -> None:
        """Cancel all running operations. Each waiting call of `run` then returns an answer."""
        with self._guard:
            for connection in self._connections:
                _cancel(connection)

    def finish(self, wait_s: float = 0.0) -> None:
        """Make the process end when its running operations have ended.

        Wait at most `wait_s` until the process has ended.
        """
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        end = threading.Thread(target=self._await_end, name="engine-end", daemon=True)
        end.start()
        end.join(wait_s)

    def close(self, timeout_s: float) -> None:
        """Cancel the running operations, and end the process. After `timeout_s`, kill the process."""
        assert self._process.stdin is not None
        self.cancel_all()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        self.kill()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._await_end()

    def log_tail(self) -> str:
        """The last 500 characters of the engine's error output, in one line and without secrets."""
        with contextlib.suppress(OSError):
            text = self._log.read_text(encoding="utf-8", errors="replace")
            return without_secrets(" ".join(text.split()))[-500:]
        return ""

    @property
    def _log(self) -> Path:
        return self._folder / "engine.log"

    def _await_end(self) -> None:
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        self._remove_folder()

    def _remove_folder(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _await_ready(self) -> str:
        """Wait for the line that the engine prints when it is ready, and return the engine's version."""
        assert self._process.stdout is not None
        limit = threading.Timer(_START_S, self._process.kill)
        limit.start()
        line = self._process.stdout.readline()
        limit.cancel()
        try:
            version: str = json.loads(line)["version"]
        except (ValueError, LookupError, TypeError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
            problem = (
                self.log_tail() or "it did not print its version; check that the program is tenancy-engine"
            )
            self.kill()
            raise EngineUnavailable(f"the engine ended before it was ready: {problem}") from None
        return version.removeprefix("v")


def _received_line(connection: socket.socket, timeout_s: float) -> bytes | None:
    """The line that the engine sends. None if the line is not complete after `timeout_s`."""
    received = bytearray()
    deadline = time.monotonic() + timeout_s
    while not received.endswith(b"\n"):
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            chunk = connection.recv(_CHUNK_BYTES)
        except TimeoutError:
            return None
        if not chunk:
            raise ConnectionResetError("it closed the connection")
        received += chunk
    return bytes(received)


def _cancel(connection: socket.socket) -> None:
    """Cancel the operation of the connection. The engine still sends an answer."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
