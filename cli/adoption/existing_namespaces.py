"""What stands in namespaces that are no tenant's yet. Read by `import`, which makes a Tenant of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster.client import Cluster
from tenancy.base.kinds import NAMESPACE, NETWORK_POLICY, RESOURCE_QUOTA, ROLE_BINDING, Kind
from tenancy.base.manifest import Manifest
from tenancy.spec.settings import PodSecurity

_POD: Final = Kind("v1", "Pod", "pods")
_CLAIM: Final = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")


@dataclass(frozen=True)
class ExistingNamespace:
    name: str
    bindings: Sequence[Manifest] = ()
    quotas: Sequence[Manifest] = ()
    policies: Sequence[Manifest] = ()
    pods: Sequence[Manifest] = ()
    claims: Sequence[Manifest] = ()


def read_existing_namespace(cluster: Cluster, name: str) -> ExistingNamespace:
    def all_of(kind: Kind) -> list[Manifest]:
        return cluster.list(kind, namespace=name)[0]

    return ExistingNamespace(
        name,
        bindings=all_of(ROLE_BINDING),
        quotas=all_of(RESOURCE_QUOTA),
        policies=all_of(NETWORK_POLICY),
        pods=all_of(_POD),
        claims=all_of(_CLAIM),
    )


def pod_security_warnings(cluster: Cluster, namespace: str, level: PodSecurity) -> tuple[str, ...]:
    """What the API server says of the pods there if this level were in force. Changes nothing."""
    labels = {"pod-security.kubernetes.io/enforce": level.value}
    return cluster.warnings(NAMESPACE, namespace, {"metadata": {"labels": labels}})
