"""Reads existing namespaces, which a new tenant will adopt, and the objects in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster.client import Cluster
from tenancy.base.kinds import NAMESPACE, NETWORK_POLICY, RESOURCE_QUOTA, ROLE_BINDING, Kind
from tenancy.base.manifest import Manifest
from tenancy.spec.settings import PodSecurity

_POD: Final = Kind("v1", "Pod", "pods")
_VOLUME_CLAIM: Final = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")


@dataclass(frozen=True)
class ExistingNamespace:
    """A namespace, and the live objects in it that `tenancy import` reads."""

    name: str
    role_bindings: Sequence[Manifest] = ()
    quotas: Sequence[Manifest] = ()
    network_policies: Sequence[Manifest] = ()
    pods: Sequence[Manifest] = ()
    volume_claims: Sequence[Manifest] = ()


def read_existing_namespace(cluster: Cluster, name: str) -> ExistingNamespace:
    """Read the namespace's objects, with one list request per kind."""

    def objects(kind: Kind) -> list[Manifest]:
        return cluster.list(kind, namespace=name)[0]

    return ExistingNamespace(
        name,
        role_bindings=objects(ROLE_BINDING),
        quotas=objects(RESOURCE_QUOTA),
        network_policies=objects(NETWORK_POLICY),
        pods=objects(_POD),
        volume_claims=objects(_VOLUME_CLAIM),
    )


def pod_security_warnings(cluster: Cluster, namespace: str, level: PodSecurity) -> tuple[str, ...]:
    """The API server's warnings about pods in the namespace that violate this Pod Security level.

    To get the warnings, the function sends a patch that sets the level of the namespace. The patch is a dry
    run, so it changes nothing.
    """
    labels = {"pod-security.kubernetes.io/enforce": level.value}
    return cluster.warnings(NAMESPACE, namespace, {"metadata": {"labels": labels}})
