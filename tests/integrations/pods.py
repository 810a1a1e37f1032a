"""Creates manifests of pods for tests of admission."""

from typing import Any

from cluster.client import Cluster
from tenancy.base.kinds import SERVICE_ACCOUNT, Kind
from tenancy.base.manifest import Manifest

POD = Kind("v1", "Pod", "pods")
IMAGE = "registry.example.test/team/app:1.0"
# The security context that Pod Security level `restricted` requires.
RESTRICTED_CONTEXT: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(namespace: str, *images: str, **security: Any) -> Manifest:
    """A pod with one container per image. `security` replaces fields of the restricted security context."""
    context = {field: value for field, value in (RESTRICTED_CONTEXT | security).items() if value is not None}
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
    """Create the default ServiceAccount, which pods need. Kubernetes would create it too, but later."""
    account = {"name": "default", "namespace": namespace}
    admin.apply({"apiVersion": "v1", "kind": SERVICE_ACCOUNT.kind, "metadata": account})
