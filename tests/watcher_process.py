"""Starts, stops and kills the watcher process, and reads its log, its metrics and its HTTP responses."""

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from prometheus_client.parser import text_string_to_metric_families

from embedded.controlplane.loopback import HOST, is_ok
from embedded.environment import ROOT
from tests.waiting import eventually


@dataclass(kw_only=True)
class WatcherProcess:
    """A watcher process with the given environment variables. Its files are in `folder`."""

    folder: Path
    environment: dict[str, str]
    process: "subprocess.Popen[bytes] | None" = None
    # The watcher listens on this address. Tests always send their requests to the loopback address.
    host: str = HOST
    port: int = 0
    # The path of the watcher's plans file, or an empty string if the watcher has no plans file.
    plans: str = ""
    logs: list[Path] = field(default_factory=list)

    def ensure_started(self, *args: str) -> None:
        """Start the watcher unless it is running."""
        if self.process is None or self.process.poll() is not None:
            self.start(*args)

    def start(self, *args: str, **environment: str) -> None:
        """Start the watcher and wait until it is ready."""
        self.launch(*args, **environment)
        eventually(lambda: is_ok(self.port, "/readyz"), f"the watcher is ready; see {self.logs[-1]}")

    def launch(self, *args: str, **environment: str) -> None:
        """Start the watcher, and wait until it serves HTTP. Does not wait until the watcher is ready."""
        self.plans = args[args.index("--plans") + 1] if "--plans" in args else ""
        self.logs.append(self.folder / f"watcher-{len(self.logs)}.log")
        with self.logs[-1].open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "watcher", "--log-level", "debug"),
                    *("--http", f"{self.host}:0", "--run-dir", str(self.folder / "run")),
                    *args,
                ],
                cwd=ROOT,
                env={**self.environment, **environment},
                stderr=log,
            )
        self.port = eventually(self._port, f"the watcher listens; see {self.logs[-1]}")
        eventually(lambda: is_ok(self.port, "/healthz"), f"the watcher answers; see {self.logs[-1]}")

    def _port(self) -> int | None:
        """The port that the watcher listens on, or None until the watcher has logged the port."""
        assert self.process is not None
        assert self.process.poll() is None, self.logs[-1].read_text()
        addresses = [line["http"] for line in self.log() if line["message"] == "started"]
        return int(addresses[0].rpartition(":")[2]) if addresses else None

    def http_get(self, path: str) -> tuple[int, str]:
        """Send a GET request to the watcher, and return the status code and the body."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def metrics(self, name: str) -> dict[tuple[str, ...], float]:
        """The values of a metric. The keys are the label values, in the order of the label names."""
        samples = [
            sample
            for family in text_string_to_metric_families(self.http_get("/metrics")[1])
            for sample in family.samples
        ]
        return {tuple(sample.labels.values()): sample.value for sample in samples if sample.name == name}

    def stop(self) -> None:
        """Stop the watcher with SIGTERM, and check that it exits with code 0."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(timeout=60) == 0, self.logs[-1].read_text()
            self.process = None

    def kill(self) -> None:
        """Kill the watcher and its child processes with SIGKILL, as in a power failure."""
        assert self.process is not None
        processes = [
            psutil.Process(self.process.pid),
            *psutil.Process(self.process.pid).children(recursive=True),
        ]
        for process in processes:
            process.kill()
        self.process.wait()
        self.process = None

    def log(self) -> Iterator[dict[str, Any]]:
        """The log entries of the watcher since its last start."""
        # If the last line has no newline, the watcher is still writing this line.
        for line in self.logs[-1].read_text().rpartition("\n")[0].splitlines():
            if line.startswith("{"):
                yield json.loads(line)

    def pulumi_run_count(self, operation: str = "", tenant: str = "") -> int:
        """The number of `pulumi` commands that the watcher has run since its last start.

        `operation` is a prefix of the counted commands. By default, all commands except `pulumi stack ...`
        are counted. If `tenant` is set, only commands on the tenant's stack are counted. This excludes
        tenants of other tests.
        """
        commands = [
            line["command"]
            for line in self.log()
            if line["message"] == "pulumi ran" and (not tenant or line["stack"] == f"tenant-{tenant}")
        ]
        if operation:
            return sum(command.startswith(operation) for command in commands)
        return sum(not command.startswith("stack ") for command in commands)
