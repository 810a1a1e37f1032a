"""The watcher as a process of this machine: started, kept running as a pod would be, and ended.

Owned by the supervisor. What the watcher does is not known here, only its flags, its /readyz and its log.
"""

import sys
import time
from collections.abc import Callable, Mapping

from embedded.controlplane.loopback import HOST, free_port, is_free, is_ok
from embedded.controlplane.processes import ProcessGroup, log_tail
from embedded.environment import ROOT
from embedded.errors import SetupFailed
from embedded.run.state_folder import StateFolder

NAME = "watcher"
READY_TIMEOUT_S = 60.0
POLL_S = 0.05
# It lets the updates under way finish before it ends.
GRACE_S = 60.0
BACKOFF_S = (0.2, 1.0, 5.0, 15.0)
# After this long a run counts as good, and the next end of it as the first.
GOOD_RUN_S = 60.0


class WatcherProcess:
    def __init__(self, folder: StateFolder, env: Mapping[str, str]) -> None:
        self._folder = folder
        self._env = env
        self._group = ProcessGroup()
        self._port = 0
        self._started_at = 0.0
        self._start_at: float | None = None
        self._failures = 0

    @property
    def pids(self) -> dict[str, int]:
        return {"watcher-guard": self._group.guard_pid, **self._group.pids}

    @property
    def page_url(self) -> str:
        return f"http://{HOST}:{self._port}/"

    def start(self) -> None:
        # The same port again where possible: the page's address is in shells and browsers.
        if not self._port or not is_free(self._port):
            self._port = free_port()
        argv = [sys.executable, "-m", "watcher", "--http", f"{HOST}:{self._port}"]
        argv += ["--run-dir", str(self._folder.watcher_run)]
        self._group.start(NAME, argv, log=self._folder.watcher_log, cwd=ROOT, env=self._env, grace_s=GRACE_S)
        self._started_at = time.monotonic()
        self._start_at = None

    def await_ready(self) -> None:
        """Raises when it ends or doesn't become ready. Starts it again if another program took its port."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not is_ok(self._port, "/readyz"):
            for ended in self._group.exits(timeout_s=POLL_S):
                if is_free(self._port):
                    raise SetupFailed(self._failure(f"ended with exit code {ended.code}"))
                self.start()
            if time.monotonic() > deadline:
                raise SetupFailed(self._failure(f"is not ready after {READY_TIMEOUT_S:.0f} s"))

    def tend(self, say: Callable[[str], None], *, timeout_s: float) -> bool:
        """Starts it again when it has ended, after a pause that grows. True when it has just been started."""
        if self._start_at is not None:
            timeout_s = max(0.0, min(timeout_s, self._start_at - time.monotonic()))
        for ended in self._group.exits(timeout_s=timeout_s):
            was_good = time.monotonic() - self._started_at > GOOD_RUN_S
            self._failures = 0 if was_good else self._failures + 1
            pause_s = BACKOFF_S[min(max(self._failures - 1, 0), len(BACKOFF_S) - 1)]
            say(f"watcher ended with exit code {ended.code}; it starts again in {pause_s:g} s")
            self._start_at = time.monotonic() + pause_s
        if self._start_at is None or time.monotonic() < self._start_at:
            return False
        self.start()
        say(f"watcher started again, process {self._group.pids[NAME]}, page {self.page_url}")
        return True

    def stop(self) -> None:
        self._group.stop()

    def _failure(self, what: str) -> str:
        log = self._folder.watcher_log
        return f"the watcher {what}. The end of {log}:\n{log_tail(log)}"
