"""What an administrator sees of a tenant's use with kubectl, and pods to use something."""

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

# How the watcher is started: nobody wants to wait for minutes.
PERIODS = (
    *("--usage-status-period", "1"),
    *("--usage-metrics-period", "1"),
    *("--usage-record-period", "1"),
)
# By what the status calls it, what a ResourceQuota of the plan calls it.
KEYS = {"cpu": "cpu", "memory": "memory", "storage": "requests.storage", "pods": "pods"}
CLAIM = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")


class Seen(NamedTuple):
    pods: int
    cpu: Decimal
    memory: Decimal


def told_usage(platform: Platform, manifest: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = ((platform.tenant(manifest) or {}).get("status") or {}).get("usage") or {}
    return found


def told(platform: Platform, manifest: Manifest) -> Seen | None:
    """What the status says of pods and what they ask for."""
    found = told_usage(platform, manifest)
    if "pods" not in found:
        return None
    used = {resource: quantity_value(amount["used"]) for resource, amount in found["quotas"].items()}
    return Seen(found["pods"], used["cpu"], used["memory"])


def by_pods(platform: Platform, *namespaces: str) -> Seen:
    """The same by the pods that have not ended."""
    pods = [found for namespace in namespaces for found in shown(platform, "pods", namespace)]
    live = [found for found in pods if found["status"]["phase"] not in ("Succeeded", "Failed")]
    asked = [
        container["resources"]["requests"] for found in live for container in found["spec"]["containers"]
    ]
    cpu, memory = (
        sum((quantity_value(requests[resource]) for requests in asked), Decimal())
        for resource in ("cpu", "memory")
    )
    return Seen(len(live), cpu, memory)


def by_quotas(platform: Platform, part: str, resource: str, *namespaces: str) -> Decimal:
    """The sum over namespaces of what the ResourceQuotas say; where two speak of it, the tightest does."""
    return sum((min(_amounts(platform, part, resource, namespace)) for namespace in namespaces), Decimal())


def _amounts(platform: Platform, part: str, resource: str, namespace: str) -> Iterator[Decimal]:
    for quota in shown(platform, "resourcequotas", namespace):
        if resource in quota["status"][part]:
            yield quantity_value(quota["status"][part][resource])


def shown(platform: Platform, what: str, namespace: str) -> list[Manifest]:
    """What `kubectl get` has of it."""
    told = subprocess.run(
        ["kubectl", "get", what, "--namespace", namespace, "--output", "json"],
        env={**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)},
        capture_output=True,
        text=True,
        check=True,
    )
    items: list[Manifest] = json.loads(told.stdout)["items"]
    return items


def start_pods(platform: Platform, namespace: str, count: int, **annotations: str) -> list[str]:
    """Their names. An annotation `x` stands for `kwok.tenancy/x`."""
    allow_pods(platform.admin, namespace)
    manifest = pod(namespace)
    manifest["metadata"]["annotations"] = {
        f"kwok.tenancy/{name}": value for name, value in annotations.items()
    }
    return [platform.admin.create(POD, manifest)["metadata"]["name"] for _ in range(count)]


def await_phase(platform: Platform, namespace: str, names: list[str], phase: str) -> None:
    def are_there() -> bool:
        found = [platform.admin.get(POD, name, namespace) for name in names]
        return all(pod is not None and pod["status"]["phase"] == phase for pod in found)

    eventually(are_there, f"all pods of {namespace} are {phase}")


def claim(namespace: str, storage: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {"metadata": {"name": "data", "namespace": namespace}, "spec": spec}
