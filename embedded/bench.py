"""`./dev bench`: measures how long three methods take to create tenants.

- `floor` applies the objects of a tenant with server-side apply, without Pulumi.
- `documented` uses the Pulumi Automation API in the way that Pulumi's documentation shows.
- `ours` runs the code of the watcher.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from pulumi import automation
from rich.console import Console
from rich.table import Table

from cluster.client import Cluster
from embedded.controlplane.plane import ControlPlane
from embedded.toolchain import resolver as toolchain
from embedded.toolchain.tools import CONTROL_PLANE_TOOLS, STACK_TOOLS
from stacks.command import PulumiProcess
from stacks.stack import Stacks
from tenancy.base.kinds import NAMESPACE
from tenancy.base.names import stack_name
from tenancy.component import TenantResources
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from watcher.log import configure_log

_ROUNDS: Final = 5
_BURST: Final = 20
_WORKERS: Final = 4
_TIMEOUT_S: Final = 300

# Creates the objects of one tenant.
Method = Callable[[DesiredState], object]


def bench(args: argparse.Namespace) -> int:
    """Run the benchmark and print a table. With `--json FILE`, also write the figures to this file."""
    configure_log("warning")
    tools = toolchain.ensure_tools((*CONTROL_PLANE_TOOLS, *STACK_TOOLS))
    console = Console(stderr=True)
    with (
        tempfile.TemporaryDirectory(prefix="tenancy-bench.") as folder,
        console.status("starting the control plane") as status,
    ):
        root = Path(folder)
        with ControlPlane(tools, root / "cluster", is_throw_away=True) as plane:
            os.environ.update(_environment(root, plane, toolchain.path_with(tools)))
            cluster = Cluster.connect(plane.kubeconfig)
            # By method name: seconds for one tenant, and tenants per second when _BURST tenants are created.
            report: dict[str, tuple[float, float]] = {}
            for name, method in _methods(root, cluster).items():
                status.update(f"{name}: one tenant, {_ROUNDS} times")
                method(_desired(f"{name}-warm"))
                single_s = statistics.median(
                    _duration_s(method, _desired(f"{name}-{n}")) for n in range(_ROUNDS)
                )
                status.update(f"{name}: {_BURST} tenants, {_WORKERS} at a time")
                report[name] = single_s, _BURST / _burst_duration_s(name, method)
                _delete_tenant_namespaces(cluster)
    result = _result(report)
    _print_table(report, result)
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def _environment(root: Path, plane: ControlPlane, path: str) -> dict[str, str]:
    return {
        "KUBECONFIG": str(plane.kubeconfig),
        "PATH": path,
        "PULUMI_HOME": str(root / "pulumi"),
        "PULUMI_CONFIG_PASSPHRASE": "bench",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }


def _methods(root: Path, cluster: Cluster) -> dict[str, Method]:
    def create_backend(name: str) -> str:
        (root / name).mkdir()
        return f"file://{root / name}"

    documented_url = create_backend("documented-state")

    def floor(desired: DesiredState) -> None:
        for manifest in desired.manifests:
            cluster.apply(manifest)

    def documented(desired: DesiredState) -> None:
        def program() -> None:
            TenantResources(desired.tenant, desired)

        stack = automation.create_or_select_stack(
            stack_name=stack_name(desired.tenant),
            project_name="bench",
            program=program,
            opts=automation.LocalWorkspaceOptions(env_vars={"PULUMI_BACKEND_URL": documented_url}),
        )
        stack.up()

    stacks = Stacks(create_backend("state"), root / "run", PulumiProcess(_TIMEOUT_S))
    stacks.prepare()
    return {
        "floor": floor,
        "documented": documented,
        "ours": lambda desired: stacks.up(desired, "spec generation 1"),
    }


def _desired(name: str) -> DesiredState:
    return desired_state(tenant_from_manifest({"metadata": {"name": name}}), read_plans())


def _duration_s(method: Method, desired: DesiredState) -> float:
    started = time.perf_counter()
    method(desired)
    return time.perf_counter() - started


def _burst_duration_s(name: str, method: Method) -> float:
    tenants = [_desired(f"{name}-burst-{n}") for n in range(_BURST)]
    started = time.perf_counter()
    with ThreadPoolExecutor(_WORKERS) as pool:
        list(pool.map(method, tenants))
    return time.perf_counter() - started


def _delete_tenant_namespaces(cluster: Cluster) -> None:
    """Delete the namespaces of all tenants, and wait until the namespaces are gone.

    Each method must start with a cluster that has no tenants.
    """
    for namespace in cluster.list(NAMESPACE)[0]:
        if namespace["metadata"]["name"].startswith("tenant-"):
            cluster.delete(NAMESPACE, namespace["metadata"]["name"])
    deadline = time.monotonic() + _TIMEOUT_S
    while any(ns["metadata"]["name"].startswith("tenant-") for ns in cluster.list(NAMESPACE)[0]):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the namespaces of the benchmark still exist after {_TIMEOUT_S} s")
        time.sleep(0.2)


def _result(report: dict[str, tuple[float, float]]) -> dict[str, dict[str, float]]:
    (floor_s, _), (documented_s, documented_rate) = report["floor"], report["documented"]
    ours_s, ours_rate = report["ours"]
    return {
        "ratios": {
            "create_vs_documented": round(documented_s / ours_s, 2),
            "burst_vs_documented": round(ours_rate / documented_rate, 2),
            "create_vs_floor": round(ours_s / floor_s, 2),
        },
        "create_seconds": {name: round(single_s, 3) for name, (single_s, _) in report.items()},
        "burst_tenants_per_second": {name: round(rate, 2) for name, (_, rate) in report.items()},
    }


def _print_table(report: dict[str, tuple[float, float]], result: dict[str, dict[str, float]]) -> None:
    titles = {
        "floor": "server-side apply, no state",
        "documented": "Automation API as documented",
        "ours": "this project",
    }
    table = Table(
        title=f"{len(_desired('x').manifests)} objects per tenant",
        caption=f"one tenant: median of {_ROUNDS} runs. {_BURST} tenants: {_WORKERS} at a time",
    )
    table.add_column("method", no_wrap=True)
    table.add_column("one tenant", justify="right")
    table.add_column(f"{_BURST} tenants", justify="right")
    for name, (single_s, rate) in report.items():
        table.add_row(titles[name], f"{single_s:.3f} s", f"{rate:.2f} tenants/s")
    console = Console()
    console.print(table)
    ratios = result["ratios"]
    console.print(f"one tenant: {ratios['create_vs_documented']} times as fast as the documented method")
    console.print(f"{_BURST} tenants: {ratios['burst_vs_documented']} times as fast as the documented method")
    console.print(f"one tenant: takes {ratios['create_vs_floor']} times as long as server-side apply")
