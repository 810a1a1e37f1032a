"""The main process of `./dev run`. It installs the platform's objects in a cluster, and runs the watcher."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from cluster.client import Cluster
from cluster.errors import ClusterError
from embedded.controlplane.components import CLUSTER_NETWORKS
from embedded.controlplane.lock import LockHeld, acquire_lock
from embedded.controlplane.plane import ControlPlane
from embedded.errors import SetupFailed
from embedded.progress import Progress
from embedded.run.environment_variables import environment_variables
from embedded.run.install_platform import (
    install_platform,
    install_session_crd,
    write_watcher_kubeconfig,
)
from embedded.run.later_tools import LaterTools, later_tools, preparing_text
from embedded.run.record import SUPERVISOR, InstanceRecord, ProcessIdentity
from embedded.run.state_folder import StateFolder
from embedded.run.tenancy_command import write_tenancy_command
from embedded.run.user_cluster import backend_name, copy_context
from embedded.run.watcher_process import WatcherProcess
from embedded.toolchain.resolver import cached_path, present_tools
from embedded.toolchain.tools import CONTROL_PLANE_TOOLS, ENGINE, NODE_TOOLS, TOOLS
from stacks.engine.binary import BINARY_VARIABLE


class Supervisor:
    """A context manager that starts the processes of `./dev run`, and stops them when the `with` block ends.

    `context` selects the cluster:

    - If it is None, `./dev run` uses the embedded control plane.
    - If it is empty, `./dev run` uses the current context of the user's kubeconfig.
    - Otherwise, `./dev run` uses this context of the user's kubeconfig.

    `tools` maps the names of tools to their paths. If it contains the tools for nodes, the embedded control
    plane starts with nodes. Otherwise, call `prepare_later_tools` to download or build these tools. When the
    tools are ready, `check_processes` adds the nodes.
    """

    cluster: Cluster
    record: InstanceRecord

    def __init__(self, folder: StateFolder, tools: dict[str, Path], *, context: str | None = None) -> None:
        self._folder = folder
        self._tools = tools
        self._context = context
        self._control_plane: ControlPlane | None = None
        self._watcher: WatcherProcess | None = None
        self._later: LaterTools | None = None
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except ClusterError as error:
            self.stop()
            raise SetupFailed(f"The platform could not be installed in the cluster: {error}") from error
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def check_processes(self, report: Callable[[str], None], *, timeout_s: float) -> None:
        """Restart the watcher if it has exited. If the later tools are ready, add the nodes.

        Waits up to `timeout_s` for an exit of the watcher. Calls `report` with a line of text for each of
        these events. Raises ControlPlaneError if a process of the control plane has exited.
        """
        assert self._watcher is not None
        if self._control_plane is not None:
            self._control_plane.check()
        if self._later is not None and self._later.has_exited():
            self._use_later_tools(self._later, report)
        if self._watcher.restart_if_exited(report, timeout_s=timeout_s):
            self._write_record(is_ready=True)

    def prepare_later_tools(self, report: Callable[[str], None]) -> None:
        """Start a background process that downloads or builds the missing later tools.

        Calls `report` with the names of these tools. `check_processes` detects when the tools are ready.
        """
        missing = [name for name in later_tools(self._context) if name not in self._tools]
        if missing:
            self._later = LaterTools(missing, self._folder.tools_log)
            self._closing.callback(self._later.stop)
            self._write_record(is_ready=True)
            report(preparing_text(missing, self._folder.tools_log))

    @property
    def later_tools_progress(self) -> str:
        """The last progress line of the process that downloads or builds the later tools.

        Empty if no such process is running.
        """
        return self._later.progress() if self._later else ""

    def stop(self) -> None:
        """Stop all processes. The watcher stops first, because it sends requests to the control plane."""
        self._closing.close()

    def _start(self) -> None:
        self._folder.create()
        self._take_lock()
        write_tenancy_command(self._folder)
        self._closing.callback(self._folder.record.unlink, missing_ok=True)
        kubeconfig, backend = self._start_cluster()
        backend.mkdir(mode=0o700, exist_ok=True)
        self.record = InstanceRecord(
            kubeconfig=str(kubeconfig),
            backend_url=f"file://{backend}",
            tools={name: str(path) for name, path in self._tools.items()},
        )
        self._write_record(is_ready=False)
        self.cluster = Cluster.connect(kubeconfig)
        with Progress("Installing the platform"):
            networks = CLUSTER_NETWORKS if self._context is None else ()
            install_platform(self.cluster, networks)
            write_watcher_kubeconfig(self.cluster, kubeconfig, self._folder.watcher_kubeconfig)
        self._start_watcher()
        self._write_record(is_ready=True)

    def _take_lock(self) -> None:
        try:
            lock = acquire_lock(self._folder.lock, timeout_s=0)
        except LockHeld:
            raise SetupFailed(
                "Another ./dev run is starting or stopping. Wait until it is done, or run ./dev stop."
            ) from None
        self._closing.callback(os.close, lock)

    def _start_cluster(self) -> tuple[Path, Path]:
        """Start the control plane, or copy the context from the user's kubeconfig.

        Returns the path of the administrator's kubeconfig, and the folder of the Pulumi backend for the
        cluster.
        """
        if self._context is not None:
            kubeconfig = self._folder.user_kubeconfig
            copy_context(self._tools["kubectl"], self._context, kubeconfig)
            return kubeconfig, self._folder.backend(backend_name(kubeconfig))
        self._control_plane = ControlPlane(
            self._tools,
            self._folder.control_plane,
            logs=self._folder.logs,
            has_nodes=self._tools.keys() >= set(NODE_TOOLS),
            before_controllers=install_session_crd,
        )
        with Progress("Starting the control plane"):
            self._control_plane.start()
        self._closing.callback(self._stop_control_plane, self._control_plane)
        return self._control_plane.kubeconfig, self._folder.backend()

    def _start_watcher(self) -> None:
        env = {**os.environ, **environment_variables(self._folder, self.record)}
        env["KUBECONFIG"] = str(self._folder.watcher_kubeconfig)
        # If this file does not exist yet, the watcher uses the Pulumi CLI.
        env[BINARY_VARIABLE] = str(cached_path(TOOLS[ENGINE]))
        log = self._folder.watcher_log
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        self._watcher = WatcherProcess(self._folder, env)
        self._closing.callback(self._stop_watcher, self._watcher)
        with Progress("Starting the watcher"):
            self._watcher.start()
            self._watcher.await_ready()
        if note := self._watcher.standby_note():
            print(f"The watcher on this machine changes nothing. It is a {note}.")

    def _use_later_tools(self, later: LaterTools, report: Callable[[str], None]) -> None:
        later.stop()
        self._later = None
        self._tools = self._tools | present_tools(later.names)
        missing = [name for name in later.names if name not in self._tools]
        if missing:
            report(later.failure_text(missing))
        self._start_nodes(report)
        self.record = replace(self.record, tools={name: str(path) for name, path in self._tools.items()})
        self._write_record(is_ready=True)
        if not missing:
            report(f"prepared: {', '.join(later.names)}")

    def _start_nodes(self, report: Callable[[str], None]) -> None:
        plane = self._control_plane
        if plane is None or "kwok" in plane.pids or not self._tools.keys() >= set(NODE_TOOLS):
            return
        try:
            plane.start_nodes(self._tools)
        except SetupFailed as error:
            if not plane.pids.keys() >= set(CONTROL_PLANE_TOOLS):
                raise
            report(f"The nodes could not be started, so pods stay Pending: {error}")

    def _stop_watcher(self, watcher: WatcherProcess) -> None:
        with Progress("Stopping the watcher"):
            watcher.stop()

    def _stop_control_plane(self, control_plane: ControlPlane) -> None:
        with Progress("Stopping the control plane"):
            control_plane.stop()

    def _write_record(self, *, is_ready: bool) -> None:
        pids = {SUPERVISOR: os.getpid()}
        if self._control_plane is not None:
            pids |= self._control_plane.pids
        if self._watcher is not None:
            pids |= self._watcher.pids
        if self._later is not None:
            pids |= self._later.pids
        identities = {name: identity for name, pid in pids.items() if (identity := ProcessIdentity.of(pid))}
        page_url = self._watcher.page_url if self._watcher else ""
        self.record = replace(self.record, page_url=page_url, is_ready=is_ready, processes=identities)
        self.record.write(self._folder.record)
