"""Creates AISessions, Jobs, pods and ResourceQuotas as plain data."""

from typing import Any

from tenancy.base.manifest import Manifest
from tenancy.sessions.job import CONTAINER
from tenancy.spec.aisession import AISessionSpec

STARTED = "2026-01-01T10:00:00Z"
COMPLETED = "2026-01-01T10:12:03Z"
# A service mesh may add containers with the same environment variable.
_CONTAINERS = [
    {"name": name, "env": [{"name": "AISESSION_MODEL", "value": model}]}
    for name, model in (("mesh", "other"), (CONTAINER, "large"))
]


def spec(**fields: Any) -> AISessionSpec:
    return AISessionSpec.model_validate({"tenantRef": {"name": "acme"}, "sessionType": "analysis", **fields})


def session(name: str = "one", namespace: str = "tenant-acme") -> Manifest:
    return {
        "apiVersion": "platform.ai/v1",
        "kind": "AISession",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"tenantRef": {"name": "acme"}},
    }


def job(*conditions: Manifest, **status: Any) -> Manifest:
    return {
        "metadata": {"name": "aisession-one", "namespace": "tenant-acme"},
        "spec": {"template": {"spec": {"containers": _CONTAINERS}}},
        "status": {"startTime": STARTED, "conditions": list(conditions), **status},
    }


def condition(condition_type: str, reason: str = "", message: str = "") -> Manifest:
    return {
        "type": condition_type,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": COMPLETED,
    }


def pod(phase: str, state: Manifest | None = None, **status: Any) -> Manifest:
    containers = [{"name": "mesh", "state": {"running": {}}}, {"name": CONTAINER, "state": state or {}}]
    return {"status": {"phase": phase, "containerStatuses": containers, **status}}


def quota(name: str = "q", used: dict[str, str] | None = None, **hard: str) -> Manifest:
    """A ResourceQuota. In the keyword arguments, `_` replaces the dot in the name of a resource."""
    limits = {resource.replace("_", "."): amount for resource, amount in hard.items()}
    return {
        "metadata": {"name": name},
        "spec": {"hard": limits},
        "status": {"hard": limits, "used": used or {}},
    }
