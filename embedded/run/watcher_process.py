"""Runs the watcher as a local process. Restarts it when it exits, as a kubelet restarts a container."""

import sys
import time
from collections.abc import Callable, Mapping
from urllib.request import urlopen

from embedded.controlplane.loopback import HOST, free_port, is_free, is_ok
from embedded.controlplane.processes import ProcessGroup, log_tail
from embedded.environment import ROOT
from embedded.errors import SetupFailed
from embedded.run.state_folder import StateFolder
from tenancy.base.backoff import WATCHER_PROCESS

NAME = "watcher"
READY_TIMEOUT_S = 60.0
POLL_S = 0.05
# On SIGTERM, the watcher completes running updates before it exits.
GRACE_S = 60.0
# The delay before a restart increases with each exit of the watcher. If the watcher has run for longer than
# this time, the delay starts at its first value again.
BACKOFF_RESET_S = 60.0


class WatcherProcess:
    """The watcher process of `./dev run`. The watcher serves its web page on a free port of 127.0.0.1."""

    def __init__(self, folder: StateFolder, env: Mapping[str, str]) -> None:
        self._folder = folder
        self._env = env
        self._group = ProcessGroup()
        self._port = 0
        self._started_at = 0.0
        # The time (monotonic clock) at which the watcher is restarted. None while the watcher runs.
        self._restart_at: float | None = None
        self._failures = 0

    @property
    def pids(self) -> dict[str, int]:
        return {"watcher-guard": self._group.guard_pid, **self._group.pids}

    @property
    def page_url(self) -> str:
        return f"http://{HOST}:{self._port}/"

    def start(self) -> None:
        # Use the same port again if it is free, because shells and browsers still use the page's URL.
        if not self._port or not is_free(self._port):
            self._port = free_port()
        argv = [sys.executable, "-m", "watcher", "--http", f"{HOST}:{self._port}"]
        argv += ["--run-dir", str(self._folder.watcher_run)]
        self._group.start(NAME, argv, log=self._folder.watcher_log, cwd=ROOT, env=self._env, grace_s=GRACE_S)
        self._started_at = time.monotonic()
        self._restart_at = None

    def await_ready(self) -> None:
        """Wait until the watcher is ready.

        If the watcher exits because another program uses its port, restarts the watcher on another port.
        Raises SetupFailed if the watcher exits for another reason, or if it is not ready after
        READY_TIMEOUT_S.
        """
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not is_ok(self._port, "/readyz"):
            for process_exit in self._group.exits(timeout_s=POLL_S):
                if is_free(self._port):
                    raise SetupFailed(self._failure_message(f"ended with exit code {process_exit.code}"))
                self.start()
            if time.monotonic() > deadline:
                raise SetupFailed(self._failure_message(f"is not ready after {READY_TIMEOUT_S:.0f} s"))

    def standby_note(self) -> str:
        """The note in the response of `/readyz` that names the leader. Empty if this watcher leads."""
        with urlopen(f"{self.page_url}readyz", timeout=READY_TIMEOUT_S) as response:
            lines = response.read().decode().splitlines()
        return next((line for line in lines if line.startswith("standby: ")), "")

    def restart_if_exited(self, report: Callable[[str], None], *, timeout_s: float) -> bool:
        """Restart the watcher if it has exited and the delay before the restart is over.

        Returns True after a restart. While the watcher runs, this method waits up to `timeout_s` for its
        exit. During the delay, this method waits until the delay is over, but at most `timeout_s`.
        """
        if self._restart_at is not None:
            timeout_s = max(0.0, min(timeout_s, self._restart_at - time.monotonic()))
        for process_exit in self._group.exits(timeout_s=timeout_s):
            is_reset = time.monotonic() - self._started_at > BACKOFF_RESET_S
            self._failures = 0 if is_reset else self._failures + 1
            pause_s = WATCHER_PROCESS.wait_s(max(self._failures - 1, 0))
            report(f"the watcher ended with exit code {process_exit.code} and is restarted in {pause_s:g} s")
            self._restart_at = time.monotonic() + pause_s
        if self._restart_at is None or time.monotonic() < self._restart_at:
            return False
        self.start()
        report(f"the watcher has been restarted: process {self._group.pids[NAME]}, page {self.page_url}")
        return True

    def stop(self) -> None:
        self._group.stop()

    def _failure_message(self, problem: str) -> str:
        log = self._folder.watcher_log
        return f"The watcher {problem}. Last lines of {log}:\n{log_tail(log)}"
