"""Pods as a tenant would make them, for tests of what is let in."""

from typing import Any

from cluster.client import Cluster
from tenancy.base.kinds import SERVICE_ACCOUNT, Kind
from tenancy.base.manifest import Manifest

POD = Kind("v1", "Pod", "pods")
IMAGE = "registry.example.test/team/app:1.0"
# What the level `restricted` asks of a container.
SAFE: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(namespace: str, *images: str, **security: Any) -> Manifest:
    """One container per image, each as safe as can be but for what is given."""
    context = {field: value for field, value in (SAFE | security).items() if value is not None}
    containers = [
        {"name": f"main-{number}", "image": image, "securityContext": context}
        for number, image in enumerate(images or (IMAGE,))
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "app-", "namespace": namespace},
        "spec": {"containers": containers},
    }


def allow_pods(admin: Cluster, namespace: str) -> None:
    """A namespace takes pods once it has this account; the cluster would come to it, but in its own time."""
    account = {"name": "default", "namespace": namespace}
    admin.apply({"apiVersion": "v1", "kind": SERVICE_ACCOUNT.kind, "metadata": account})
