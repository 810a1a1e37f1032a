"""Creates and deletes the objects of tenants without the watcher.

The code runs in a separate process, so that its CPU time and memory can be measured. The process reads
requests as JSON lines from stdin, and writes one JSON line per request to stdout:

- request: `method` (`apply` or `remove`), `tenants` (names), `plan`, `parallel` (number of threads)
- response: `seconds` for all tenants, and `each_s` with the seconds of each tenant
"""

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from pulumi import automation

from cluster.client import Cluster
from embedded.bench.events import Events, is_named
from tenancy.base.kinds import NAMESPACE
from tenancy.base.labels import MANAGED_SELECTOR
from tenancy.base.names import stack_name
from tenancy.component import TenantResources
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from watcher.log import configure_log


class Method(Protocol):
    """A method to create, update and delete the objects of a tenant."""

    def apply(self, desired: DesiredState) -> None: ...

    def remove(self, desired: DesiredState) -> None: ...


class Floor:
    """Creates and updates each object with server-side apply. Deletes a tenant by deleting its namespaces."""

    def __init__(self) -> None:
        self._cluster = Cluster.connect()
        self._namespaces = Events(self._cluster, NAMESPACE, MANAGED_SELECTOR)

    def apply(self, desired: DesiredState) -> None:
        for manifest in desired.manifests:
            self._cluster.apply(manifest)

    def remove(self, desired: DesiredState) -> None:
        """Delete the namespaces of the tenant, and wait until they no longer exist."""
        for name in desired.namespaces:
            is_it = is_named(name)
            gone = self._namespaces.expect(
                f"namespace {name} is deleted",
                lambda before, after, is_it=is_it: is_it(before) and after is None,  # type: ignore[misc]
            )
            self._cluster.delete(NAMESPACE, name)
            gone.wait()


class Documented:
    """Uses the Automation API with an inline program and a local workspace, as in Pulumi's guide."""

    def apply(self, desired: DesiredState) -> None:
        self._stack(desired).up()

    def remove(self, desired: DesiredState) -> None:
        stack = self._stack(desired)
        stack.destroy()
        stack.workspace.remove_stack(stack.name)

    def _stack(self, desired: DesiredState) -> automation.Stack:
        def program() -> None:
            TenantResources(desired.tenant, desired)

        return automation.create_or_select_stack(
            stack_name=stack_name(desired.tenant), project_name="bench", program=program
        )


METHODS: dict[str, Callable[[], Method]] = {"floor": Floor, "documented": Documented}


def answer(method: Method, request: dict[str, Any]) -> dict[str, Any]:
    """Apply or remove the objects of all tenants in a request, and return the response.

    The docstring of the module describes the fields of requests and responses.
    """
    operation: Callable[[DesiredState], None] = getattr(method, request["method"])
    plans = read_plans()
    manifests = [
        {"metadata": {"name": name}, "spec": {"plan": request["plan"]}} for name in request["tenants"]
    ]
    states = [desired_state(tenant_from_manifest(manifest), plans) for manifest in manifests]

    def duration_s(desired: DesiredState) -> float:
        started_s = time.perf_counter()
        operation(desired)
        return time.perf_counter() - started_s

    started_s = time.perf_counter()
    with ThreadPoolExecutor(request["parallel"]) as pool:
        each_s = list(pool.map(duration_s, states))
    return {"seconds": time.perf_counter() - started_s, "each_s": each_s}


def main() -> None:
    configure_log("error")
    # Only responses may be written to stdout. All other output is written to stderr.
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    method = METHODS[sys.argv[1]]()
    for line in sys.stdin:
        print(json.dumps(answer(method, json.loads(line))), file=responses, flush=True)


if __name__ == "__main__":
    main()
