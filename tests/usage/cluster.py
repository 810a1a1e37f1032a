"""Reads the usage of a tenant from its status and with kubectl, and creates pods that use resources."""

import json
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest
from tenancy.base.quantity import quantity_value
from tests.integrations.pods import POD, allow_pods, pod
from tests.platform import Platform
from tests.waiting import eventually

# Options that give the watcher short periods, so that tests do not wait long.
PERIODS = (
    *("--usage-status-period", "1"),
    *("--usage-metrics-period", "1"),
    *("--usage-record-period", "1"),
)
# The resource names in ResourceQuotas, keyed by the names in the Tenant's status.
QUOTA_KEYS = {"cpu": "cpu", "memory": "memory", "storage": "requests.storage", "pods": "pods"}
CLAIM = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")


class PodUsage(NamedTuple):
    pods: int
    cpu: Decimal
    memory: Decimal


def status_usage(platform: Platform, manifest: Manifest) -> dict[str, Any]:
    usage: dict[str, Any] = ((platform.tenant(manifest) or {}).get("status") or {}).get("usage") or {}
    return usage


def reported_pod_usage(platform: Platform, manifest: Manifest) -> PodUsage | None:
    """The number of the tenant's pods and the sum of their requests, from the Tenant's status."""
    usage = status_usage(platform, manifest)
    if "pods" not in usage:
        return None
    used = {resource: quantity_value(amount["used"]) for resource, amount in usage["quotas"].items()}
    return PodUsage(usage["pods"], used["cpu"], used["memory"])


def live_pod_usage(platform: Platform, *namespaces: str) -> PodUsage:
    """The number of live pods that have not finished, and the sum of their requests."""
    pods = [pod for namespace in namespaces for pod in kubectl_get(platform, "pods", namespace)]
    active = [pod for pod in pods if pod["status"]["phase"] not in ("Succeeded", "Failed")]
    requests_by_container = [
        container["resources"]["requests"] for pod in active for container in pod["spec"]["containers"]
    ]
    cpu, memory = (
        sum((quantity_value(requests[resource]) for requests in requests_by_container), Decimal())
        for resource in ("cpu", "memory")
    )
    return PodUsage(len(active), cpu, memory)


def quota_amount(platform: Platform, part: str, resource: str, *namespaces: str) -> Decimal:
    """The sum of the `used` or `hard` amounts of a resource over the namespaces.

    If several quotas of a namespace limit the resource, only the lowest amount of the namespace is added.
    """
    return sum((min(_amounts(platform, part, resource, namespace)) for namespace in namespaces), Decimal())


def _amounts(platform: Platform, part: str, resource: str, namespace: str) -> Iterator[Decimal]:
    for quota in kubectl_get(platform, "resourcequotas", namespace):
        if resource in quota["status"][part]:
            yield quantity_value(quota["status"][part][resource])


def kubectl_get(platform: Platform, resource: str, namespace: str) -> list[Manifest]:
    """The objects that `kubectl get` prints."""
    completed = subprocess.run(
        ["kubectl", "get", resource, "--namespace", namespace, "--output", "json"],
        env={**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)},
        capture_output=True,
        text=True,
        check=True,
    )
    items: list[Manifest] = json.loads(completed.stdout)["items"]
    return items


def start_pods(platform: Platform, namespace: str, count: int, **annotations: str) -> list[str]:
    """Create pods, and return their names. An argument `x` becomes the annotation `kwok.tenancy/x`."""
    allow_pods(platform.admin, namespace)
    manifest = pod(namespace)
    manifest["metadata"]["annotations"] = {
        f"kwok.tenancy/{name}": value for name, value in annotations.items()
    }
    return [platform.admin.create(POD, manifest)["metadata"]["name"] for _ in range(count)]


def await_phase(platform: Platform, namespace: str, names: list[str], phase: str) -> None:
    def have_phase() -> bool:
        pods = [platform.admin.get(POD, name, namespace) for name in names]
        return all(pod is not None and pod["status"]["phase"] == phase for pod in pods)

    eventually(have_phase, f"all pods of {namespace} are {phase}")


def claim(namespace: str, storage: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {"metadata": {"name": "data", "namespace": namespace}, "spec": spec}
