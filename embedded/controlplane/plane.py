"""Starts and stops a Kubernetes control plane on this machine. The control plane can have simulated nodes.

The control plane keeps its state in a data folder. If you start it again with the same folder, it has the
same state. The program KWOK simulates the nodes: it updates the status of the nodes and their pods, but runs
no containers. The Kubernetes scheduler assigns pods to the nodes.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from embedded.controlplane import components
from embedded.controlplane.kubeconfig import kubeconfig_document, write_kubeconfig
from embedded.controlplane.lock import LockHeld, acquire_lock
from embedded.controlplane.loopback import HOST, free_port, is_free, is_ok
from embedded.controlplane.nodes import apply_nodes
from embedded.controlplane.processes import ProcessFailed, ProcessGroup, log_tail
from embedded.controlplane.start_errors import ControlPlaneError, PortTaken, retry_on_taken_port
from embedded.controlplane.tokens import ensure_tokens

READY_TIMEOUT_S = 90.0
LOCK_TIMEOUT_S = 30.0
POLL_S = 0.05
# The API server creates its certificate, which is valid for a year. If the certificate is older than this, it
# is deleted before the start, so that the API server creates a new one.
CERTIFICATE_MAX_AGE_S = 300 * 86400.0


class ControlPlane:
    """A control plane. Use it as a context manager, or call start() and stop().

    - `binaries` maps the names of programs to their paths. It must contain etcd, kube-apiserver and
      kube-controller-manager.
    - `data` is the data folder. `logs` is the folder for logs. By default, this is the folder `logs` in the
      data folder.
    - `is_throw_away`: If true, etcd does not sync data to disk. This is faster, but a crash of the machine
      can destroy the data. The controller that checks the types in admission policies does not run.
    - `api_server_flags` are additional flags of the API server, such as feature gates.
    - `has_nodes`: If true, the control plane starts with nodes. `binaries` must then also contain kubectl,
      kube-scheduler and kwok. If false, `start_nodes` can add nodes later.
    - `before_controllers` is called with the kubeconfig before the controller manager starts. It can install
      CRDs, so that the quota controller knows them from its start. Otherwise, the quota controller needs up
      to 30 s to find a new CRD, and up to 5 minutes more to count its objects in existing quotas.
    """

    def __init__(
        self,
        binaries: Mapping[str, Path],
        data: Path,
        *,
        logs: Path | None = None,
        is_throw_away: bool = False,
        has_nodes: bool = False,
        api_server_flags: Sequence[str] = (),
        before_controllers: Callable[[Path], None] | None = None,
    ) -> None:
        self.data = data.absolute()
        self.logs = (logs or self.data / "logs").absolute()
        self.kubeconfig = self.data / components.kubeconfig_name("admin")
        self.ca = self.data / components.CERTIFICATE
        self.url = ""
        self.token = ""
        self._binaries = binaries
        self._is_throw_away = is_throw_away
        self._has_nodes = has_nodes
        self._api_server_flags = api_server_flags
        self._before_controllers = before_controllers
        self._group: ProcessGroup | None = None
        self._tokens: dict[str, str] = {}
        # The port of each process, keyed by process name. The processes listen on 127.0.0.1. etcd has no
        # port, because it listens on a Unix socket in the data folder.
        self._ports: dict[str, int] = {}

    @property
    def pids(self) -> dict[str, int]:
        """The IDs of the running processes, keyed by name. They include the guard process."""
        return {} if self._group is None else {"guard": self._group.guard_pid, **self._group.pids}

    def start(self) -> None:
        """Start the processes, and wait until the API server and the controllers are ready.

        If a process does not start, stops all processes and raises ControlPlaneError.
        """
        self._prepare_folder()
        self._tokens = ensure_tokens(self.data / components.TOKENS)
        self.token = self._tokens["admin"]
        retry_on_taken_port(self._start)

    def start_nodes(self, binaries: Mapping[str, Path]) -> None:
        """Add nodes to a running control plane, and wait until pods can run on the nodes.

        If the nodes do not start, raises SetupFailed. The control plane then keeps running.
        """
        self._binaries = {**self._binaries, **binaries}
        retry_on_taken_port(self._start_nodes)

    def stop(self) -> None:
        """Stop the processes in the reverse order of their start, and wait until they have exited."""
        if self._group is not None:
            self._group.stop()
            self._group = None

    def check(self, *, timeout_s: float = 0) -> None:
        """Raise ControlPlaneError if a process has exited. Wait up to `timeout_s` for an exit.

        Raises PortTaken if the process exited because another program uses its port.
        """
        assert self._group is not None, "the control plane is not started"
        try:
            exits = self._group.exits(timeout_s=timeout_s)
        except ProcessFailed as error:
            raise ControlPlaneError(str(error)) from None
        for process_exit in exits:
            if process_exit.name in self._group.pids:
                continue  # The process has been restarted after this exit.
            log = self._log(process_exit.name)
            tail = log_tail(log)
            # KWOK writes no log line if its port is taken, so check the port too.
            port = self._ports.get(process_exit.name)
            is_taken = "address already in use" in tail or (port is not None and not is_free(port))
            error_class = PortTaken if is_taken else ControlPlaneError
            raise error_class(
                f"{process_exit.name} ended with exit code {process_exit.code}. Last lines of {log}:\n{tail}"
            )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _prepare_folder(self) -> None:
        try:
            self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.logs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ControlPlaneError(f"cannot create a folder for the control plane: {error}") from error
        if self.ca.exists() and time.time() - self.ca.stat().st_mtime > CERTIFICATE_MAX_AGE_S:
            self.ca.unlink()
            (self.data / components.KEY).unlink(missing_ok=True)

    def _start(self) -> None:
        try:
            lock = acquire_lock(self.data / "lock", timeout_s=LOCK_TIMEOUT_S)
        except LockHeld:
            raise ControlPlaneError(
                f"{self.data} is in use by another control plane. Stop it first, or use another folder."
            ) from None
        # The guard process inherits the lock, and exits after the processes that it started. So the lock is
        # held as long as a process uses the folder.
        try:
            self._group = ProcessGroup(hold=[lock])
        finally:
            os.close(lock)
        try:
            self._start_components()
        except BaseException:
            self.stop()
            raise

    def _start_components(self) -> None:
        etcd_socket = self.data / components.ETCD_SOCKET
        etcd_socket.unlink(missing_ok=True)
        self._start_process(
            "etcd", components.etcd_argv(self._binaries["etcd"], is_throw_away=self._is_throw_away)
        )
        # Wait for the socket. If the API server starts before the socket exists, it retries after a second.
        self._await("etcd", etcd_socket.exists)
        self._start_server(
            "kube-apiserver",
            lambda binary, port: [*components.apiserver_argv(binary, port), *self._api_server_flags],
        )
        self._await_ok("kube-apiserver", "/readyz")
        self.url = f"https://{HOST}:{self._ports['kube-apiserver']}"
        for identity, token in self._tokens.items():
            path = self.data / components.kubeconfig_name(identity)
            write_kubeconfig(path, kubeconfig_document(self.url, self.ca.read_bytes(), token))
        if self._before_controllers:
            self._before_controllers(self.kubeconfig)
        self._start_server(
            "kube-controller-manager",
            partial(components.controller_manager_argv, is_throw_away=self._is_throw_away),
        )
        if self._has_nodes:
            self._start_nodes()
        self._await_ok("kube-controller-manager", "/healthz")
        self._await_ok("kube-apiserver", "/api/v1/namespaces/default/serviceaccounts/default")

    def _start_nodes(self) -> None:
        """Create the Node objects. Start the scheduler and KWOK if they are not running yet."""
        self._start_server("kube-scheduler", components.scheduler_argv)
        apply_nodes(self._binaries["kubectl"], self.kubeconfig)
        # New RBAC rules take effect after a short delay. Wait for them, because KWOK retries a rejected
        # request only after a second.
        self._await_ok("kube-apiserver", "/api/v1/nodes?limit=1", self._tokens["kwok"])
        self._start_server("kwok", components.kwok_argv)
        self._await_ok("kube-scheduler", "/healthz")
        self._await_ok("kwok", "/healthz")

    def _start_server(self, name: str, argv: Callable[[Path, int], list[str | Path]]) -> None:
        """Start a process that listens on a port. Do nothing if the process is already running."""
        assert self._group is not None
        if name not in self._group.pids:
            self._ports[name] = free_port()
            self._start_process(name, argv(self._binaries[name], self._ports[name]))

    def _start_process(self, name: str, argv: list[str | Path]) -> None:
        assert self._group is not None
        log = self._log(name)
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        try:
            self._group.start(name, argv, log=log, cwd=self.data, env=os.environ | components.ENVIRONMENT)
        except ProcessFailed as error:
            raise ControlPlaneError(str(error)) from None

    def _await(self, name: str, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not is_ready():
            self.check(timeout_s=POLL_S)
            if time.monotonic() > deadline:
                log = self._log(name)
                raise ControlPlaneError(
                    f"{name} is not ready after {READY_TIMEOUT_S:.0f} s."
                    f" Last lines of {log}:\n{log_tail(log)}"
                )

    def _await_ok(self, name: str, path: str, token: str = "") -> None:
        """Wait until a GET request to the process returns 200. By default, use the token of `admin`."""
        port = self._ports[name]
        self._await(name, lambda: is_ok(port, path, ca=self.ca, token=token or self.token))

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"
