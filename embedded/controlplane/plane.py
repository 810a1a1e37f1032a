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
from embedded.controlplane.kubeconfig import kubeconfig_document, write_kubeconfig
from embedded.controlplane.lock import LockHeld, held_lock
from embedded.controlplane.loopback import HOST, free_port, is_free, is_ok
from embedded.controlplane.nodes import apply_nodes
from embedded.controlplane.processes import ProcessFailed, ProcessGroup, log_tail
from embedded.controlplane.tokens import kept_tokens
from embedded.errors import SetupFailed

READY_TIMEOUT_S = 90.0
LOCK_TIMEOUT_S = 30.0
# How often a start is tried while other programs take its ports.
START_ATTEMPTS = 5
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
    kube-scheduler and kwok. Without `has_nodes`, `start_nodes` can add them later. `is_throw_away` trades the
    safety of the data for speed. `logs` is `<data>/logs` by default.
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
        self._tokens: dict[str, str] = {}
        # On 127.0.0.1, by the process's name. etcd has none: it listens on a socket in the data folder.
        self._ports: dict[str, int] = {}

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by name, the guard's among them."""
        return {} if self._group is None else {"guard": self._group.guard_pid, **self._group.pids}

    def start(self) -> None:
        """Returns when the API server is ready and the controllers run; otherwise leaves nothing running."""
        self._prepare_folder()
        self._tokens = kept_tokens(self.data / components.TOKENS)
        self.token = self._tokens["admin"]
        _retry_on_taken_port(self._start)

    def start_nodes(self, binaries: Mapping[str, Path]) -> None:
        """Adds the nodes to a control plane that runs; returns when pods can run on them.

        Raises ControlPlaneError when they do not start. The other processes keep running.
        """
        self._binaries = {**self._binaries, **binaries}
        _retry_on_taken_port(self._start_nodes)

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
            if process.name in self._group.pids:
                continue  # it was started again since
            log = self._log(process.name)
            tail = log_tail(log)
            # KWOK does not say why it ends.
            port = self._ports.get(process.name)
            is_taken = "address already in use" in tail or (port is not None and not is_free(port))
            kind = PortTaken if is_taken else ControlPlaneError
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

    def _start(self) -> None:
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
            self._start_components()
        except BaseException:
            self.stop()
            raise

    def _start_components(self) -> None:
        etcd_socket = self.data / components.ETCD_SOCKET
        etcd_socket.unlink(missing_ok=True)
        self._run("etcd", components.etcd_argv(self._binaries["etcd"], is_throw_away=self._is_throw_away))
        # The API server would otherwise find no socket, and try again a second later.
        self._await("etcd", etcd_socket.exists)
        self._serve("kube-apiserver", components.apiserver_argv)
        self._await_ok("kube-apiserver", "/readyz")
        self.url = f"https://{HOST}:{self._ports['kube-apiserver']}"
        for identity, token in self._tokens.items():
            path = self.data / components.kubeconfig_name(identity)
            write_kubeconfig(path, kubeconfig_document(self.url, self.ca.read_bytes(), token))
        self._serve("kube-controller-manager", components.controller_manager_argv)
        if self._has_nodes:
            self._start_nodes()
        self._await_ok("kube-controller-manager", "/healthz")
        self._await_ok("kube-apiserver", "/api/v1/namespaces/default/serviceaccounts/default")

    def _start_nodes(self) -> None:
        """Leaves a process alone that an earlier attempt has started."""
        self._serve("kube-scheduler", components.scheduler_argv)
        apply_nodes(self._binaries["kubectl"], self.kubeconfig)
        # Its rights reach the API server a moment later; KWOK would try again after a second only.
        self._await_ok("kube-apiserver", "/api/v1/nodes?limit=1", self._tokens["kwok"])
        self._serve("kwok", components.kwok_argv)
        self._await_ok("kube-scheduler", "/healthz")
        self._await_ok("kwok", "/healthz")

    def _serve(self, name: str, argv: Callable[[Path, int], list[str | Path]]) -> None:
        """Starts a process that listens on a port, unless it runs."""
        assert self._group is not None
        if name not in self._group.pids:
            self._ports[name] = free_port()
            self._run(name, argv(self._binaries[name], self._ports[name]))

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

    def _await_ok(self, name: str, path: str, token: str = "") -> None:
        """Until the process answers on its port; with the administrator's token where none is given."""
        port = self._ports[name]
        self._await(name, lambda: is_ok(port, path, ca=self.ca, token=token or self.token))

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"


def _retry_on_taken_port(start: Callable[[], None]) -> None:
    for _ in range(START_ATTEMPTS - 1):
        try:
            start()
        except PortTaken:
            continue
        return
    start()
