"""A real Kubernetes control plane on this machine: etcd, API server, controllers; with nodes if asked.

Used by `./dev run` and by the tests alike. What is in the data folder stays, so the next start on the same
folder picks the cluster up. Nodes are played by KWOK: a real scheduler puts pods on them, and those run in
their status alone. It doesn't get the binaries: the caller passes them.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from embedded.controlplane import components
from embedded.controlplane.components import Ports
from embedded.controlplane.kubeconfig import kubeconfig_document, write_kubeconfig
from embedded.controlplane.lock import LockHeld, held_lock
from embedded.controlplane.loopback import HOST, free_port, is_ok
from embedded.controlplane.nodes import apply_nodes
from embedded.controlplane.processes import ProcessFailed, ProcessGroup, log_tail
from embedded.controlplane.tokens import kept_tokens
from embedded.errors import SetupFailed

READY_TIMEOUT_S = 90.0
LOCK_TIMEOUT_S = 30.0
POLL_S = 0.05
# The API server's own certificate is valid for a year.
CERTIFICATE_MAX_AGE_S = 300 * 86400.0


class ControlPlaneError(SetupFailed):
    """The control plane can't start, or has stopped; says which process, and shows the end of its log."""


class PortTaken(ControlPlaneError):
    """Another program took a port between our choice and its use."""


class ControlPlane:
    """Use it as a context manager, or call start() and stop().

    `binaries` maps etcd, kube-apiserver and kube-controller-manager to paths, with `has_nodes` also kubectl,
    kube-scheduler and kwok. `is_throw_away` trades the safety of the data for speed. `logs` is `<data>/logs`
    by default.
    """

    def __init__(
        self,
        binaries: Mapping[str, Path],
        data: Path,
        *,
        logs: Path | None = None,
        is_throw_away: bool = False,
        has_nodes: bool = False,
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
        self._group: ProcessGroup | None = None

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by name, the guard's among them."""
        return {} if self._group is None else {"guard": self._group.guard_pid, **self._group.pids}

    def start(self) -> None:
        """Returns when the API server is ready and the controllers run; otherwise leaves nothing running."""
        self._prepare_folder()
        tokens = kept_tokens(self.data / components.TOKENS)
        self.token = tokens["admin"]
        try:
            self._start(tokens)
        except PortTaken:
            self._start(tokens)

    def stop(self) -> None:
        """Ends the processes, the API server before etcd, and returns when they are gone."""
        if self._group is not None:
            self._group.stop()
            self._group = None

    def check(self, *, timeout_s: float = 0) -> None:
        """Raises when a process has ended; looks for at most `timeout_s`."""
        assert self._group is not None, "the control plane is not started"
        try:
            ended = self._group.exits(timeout_s=timeout_s)
        except ProcessFailed as error:
            raise ControlPlaneError(str(error)) from None
        for process in ended:
            log = self._log(process.name)
            tail = log_tail(log)
            kind = PortTaken if "address already in use" in tail else ControlPlaneError
            raise kind(f"{process.name} ended with exit code {process.code}. The end of {log}:\n{tail}")

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
            raise ControlPlaneError(f"no folder can be made for the control plane: {error}") from error
        if self.ca.exists() and time.time() - self.ca.stat().st_mtime > CERTIFICATE_MAX_AGE_S:
            self.ca.unlink()
            (self.data / components.KEY).unlink(missing_ok=True)

    def _start(self, tokens: dict[str, str]) -> None:
        try:
            lock = held_lock(self.data / "lock", timeout_s=LOCK_TIMEOUT_S)
        except LockHeld:
            raise ControlPlaneError(
                f"{self.data} is in use by another control plane: stop that one first, or use another folder"
            ) from None
        # The guard inherits the lock: the folder is ours until the last process in it has ended.
        try:
            self._group = ProcessGroup(hold=[lock])
        finally:
            os.close(lock)
        try:
            self._start_components(tokens, Ports(free_port(), free_port(), free_port(), free_port()))
        except BaseException:
            self.stop()
            raise

    def _start_components(self, tokens: dict[str, str], ports: Ports) -> None:
        self.url = f"https://{HOST}:{ports.apiserver}"
        etcd_socket = self.data / components.ETCD_SOCKET
        etcd_socket.unlink(missing_ok=True)
        self._run("etcd", components.etcd_argv(self._binaries["etcd"], is_throw_away=self._is_throw_away))
        # The API server would otherwise find no socket, and try again a second later.
        self._await("etcd", etcd_socket.exists)
        self._run("kube-apiserver", components.apiserver_argv(self._binaries["kube-apiserver"], ports))
        self._await("kube-apiserver", lambda: self._is_ok(ports.apiserver, "/readyz"))
        for identity, token in tokens.items():
            path = self.data / components.kubeconfig_name(identity)
            write_kubeconfig(path, kubeconfig_document(self.url, self.ca.read_bytes(), token))
        name = "kube-controller-manager"
        self._run(name, components.controller_manager_argv(self._binaries[name], ports))
        if self._has_nodes:
            self._start_nodes(ports, tokens["kwok"])
        self._await(name, lambda: self._is_ok(ports.controller_manager, "/healthz"))
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._await(name, lambda: self._is_ok(ports.apiserver, account))

    def _start_nodes(self, ports: Ports, token: str) -> None:
        self._run("kube-scheduler", components.scheduler_argv(self._binaries["kube-scheduler"], ports))
        apply_nodes(self._binaries["kubectl"], self.kubeconfig)
        # Its rights reach the API server a moment later; KWOK would try again after a second only.
        nodes = "/api/v1/nodes?limit=1"
        self._await("kube-apiserver", lambda: is_ok(ports.apiserver, nodes, ca=self.ca, token=token))
        self._run("kwok", components.kwok_argv(self._binaries["kwok"], ports))
        self._await("kube-scheduler", lambda: self._is_ok(ports.scheduler, "/healthz"))
        self._await("kwok", lambda: is_ok(ports.kwok, "/healthz", ca=self.ca))

    def _run(self, name: str, argv: list[str | Path]) -> None:
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
                    f"{name} is not ready after {READY_TIMEOUT_S:.0f} s. The end of {log}:\n{log_tail(log)}"
                )

    def _is_ok(self, port: int, path: str) -> bool:
        return is_ok(port, path, ca=self.ca, token=self.token)

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"
