"""Runs the watcher as a process whose CPU time and memory can be measured."""

import http.client
import sys
import time
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from embedded.bench.meter import Meter
from embedded.bench.reaper import reaper_argv
from embedded.bench.site import Site
from embedded.controlplane.loopback import HOST, free_port, is_ok
from embedded.controlplane.processes import ProcessGroup, log_tail
from embedded.environment import ROOT
from embedded.errors import SetupFailed

ENGINE_VARIABLE: Final = "TENANCY_ENGINE"
_TIMEOUT_S: Final = 120.0
_POLL_S: Final = 0.01
_GRACE_S: Final = 60.0


class WatcherRun:
    """A watcher process that uses the control plane of `site`. After `stop`, you can start it again.

    After a restart, the watcher uses the same files and the same Pulumi backend as before.
    """

    def __init__(self, site: Site, engine: str) -> None:
        self._site = site
        self._engine = engine
        self._log = site.folder / "watcher.log"
        self._port = 0
        self._group: ProcessGroup | None = None

    def start(self) -> Meter:
        """Start the process, and return a Meter for it. Does not wait until the watcher is ready."""
        self._group, self._port = ProcessGroup(), free_port()
        argv = [sys.executable, "-m", "watcher", "--http", f"{HOST}:{self._port}"]
        argv += ["--run-dir", str(self._site.folder / "run")]
        environment = {**self._site.environment, ENGINE_VARIABLE: self._engine}
        pid = self._group.start(
            "watcher", reaper_argv(argv), log=self._log, cwd=ROOT, env=environment, grace_s=_GRACE_S
        )
        return Meter(pid)

    def await_ready(self) -> None:
        assert self._group is not None
        deadline = time.monotonic() + _TIMEOUT_S
        while not is_ok(self._port, "/readyz"):
            if self._group.exits(timeout_s=_POLL_S) or time.monotonic() > deadline:
                tail = log_tail(self._log)
                raise SetupFailed(
                    f"The watcher of the benchmark is not ready. Last lines of its log:\n{tail}"
                )

    def reconciles(self) -> dict[str, float]:
        """The number of reconciles since the start of the watcher, keyed by result.

        An example of a result is `applied`.
        """
        return {labels["result"]: value for labels, value in self._metric("tenancy_reconciles_total")}

    def uses_selected_engine(self) -> bool:
        """False if the watcher uses the Pulumi CLI, although the warm engine is selected. Otherwise True."""
        ((_, value),) = self._metric("tenancy_engine_usable")
        return value == 1

    def _metric(self, name: str) -> list[tuple[dict[str, str], float]]:
        """Read a metric from the watcher's `/metrics`. Returns the labels and the value of each sample."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=30)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        return [
            (sample.labels, sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name
        ]

    def stop(self) -> None:
        if self._group is not None:
            self._group.stop()
            self._group = None
