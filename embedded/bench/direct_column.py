"""Measures the two methods without the watcher: server-side apply and Pulumi's Automation API.

In the benchmark, they are the columns `floor` and `documented`.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from embedded.bench.meter import Meter
from embedded.bench.output.figures import Step, latencies
from embedded.bench.reaper import reaper_argv
from embedded.bench.selection import Sizes
from embedded.bench.site import Site
from embedded.controlplane.processes import log_tail
from embedded.environment import ROOT
from embedded.errors import SetupFailed


class DirectColumn:
    """Measures one method. The method runs in a separate process, which executes `direct_worker.py`."""

    def __init__(self, method: str, process: "subprocess.Popen[str]", site: Site, sizes: Sizes) -> None:
        self._method = method
        self._process = process
        self._site = site
        self._sizes = sizes
        self._meter = Meter(process.pid)
        self._tenants: list[str] = []
        self._count = 0

    def steps(self) -> dict[str, Callable[[], Step]]:
        return {
            "create": self._create,
            "plan": lambda: self._change("pro"),
            "noop": self._run_again,
            "delete": self._delete,
            "burst": self._burst,
        }

    def _create(self) -> Step:
        self._ensure_tenants(1)  # The first tenant is slower, because caches are empty.
        names = self._new_names(self._sizes.creates)
        step = self._measured("apply", names)
        self._tenants += names
        return step

    def _change(self, plan: str) -> Step:
        self._ensure_tenants(self._sizes.changes)
        return self._measured("apply", self._tenants[: self._sizes.changes], plan)

    def _run_again(self) -> Step:
        self._ensure_tenants(self._sizes.changes)
        names = self._tenants[: self._sizes.changes]
        self._send("apply", names)
        return self._measured("apply", names)

    def _delete(self) -> Step:
        self._ensure_tenants(self._sizes.deletes)
        names = self._tenants[-self._sizes.deletes :]
        del self._tenants[-self._sizes.deletes :]
        return self._measured("remove", names)

    def _burst(self) -> Step:
        self._ensure_tenants(1)
        names = self._new_names(self._sizes.burst)
        with self._meter.measured() as usage:
            seconds = self._send("apply", names, parallel=self._sizes.parallel)["seconds"]
        return {
            "tenants": len(names),
            "seconds": seconds,
            "tenants_per_s": len(names) / seconds,
            "cpu_s": usage.cpu_s / len(names),
            "peak_mib": usage.peak_mib,
        }

    def _measured(self, method: str, names: list[str], plan: str = "basic") -> Step:
        with self._meter.measured() as usage:
            response = self._send(method, names, plan)
        return {
            **latencies(response["each_s"]),
            "cpu_s": usage.cpu_s / len(names),
            "peak_mib": usage.peak_mib,
        }

    def _ensure_tenants(self, count: int) -> None:
        if missing := self._new_names(count - len(self._tenants)):
            self._send("apply", missing)
            self._tenants += missing

    def _new_names(self, count: int) -> list[str]:
        names = [f"{self._method}-{self._count + number}" for number in range(count)]
        self._count += len(names)
        return names

    def _send(
        self, method: str, tenants: list[str], plan: str = "basic", parallel: int = 1
    ) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"method": method, "tenants": tenants, "plan": plan, "parallel": parallel}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            tail = log_tail(self._site.folder / "worker.log")
            raise SetupFailed(f"The column {self._method} failed. Last lines of its log:\n{tail}")
        response: dict[str, Any] = json.loads(line)
        return response


@contextmanager
def started_direct_column(method: str, site: Site, sizes: Sizes) -> Iterator[DirectColumn]:
    """Start the process of the column `method`, which is `floor` or `documented`.

    The process ends when the `with` block ends.
    """
    argv = reaper_argv([sys.executable, "-m", "embedded.bench.direct_worker", method])
    with (
        (site.folder / "worker.log").open("w") as log,
        subprocess.Popen(
            argv,
            cwd=ROOT,
            env=site.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        # The worker ends when its stdin is closed. `Popen` closes stdin when the `with` block ends.
        yield DirectColumn(method, process, site, sizes)
