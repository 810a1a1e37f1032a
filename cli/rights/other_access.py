"""Reads objects in a tenant's namespaces that give access and are not managed by the platform.

These are RoleBindings that the platform did not create, and Secrets with tokens of service accounts.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from cli.rights.permissions import Right
from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import ROLE_BINDING, Kind
from tenancy.base.labels import MANAGED_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.model import Model

_SECRET: Final = Kind("v1", "Secret", "secrets")
_TOKEN_SECRETS: Final = "type=kubernetes.io/service-account-token"
_ACCOUNT_ANNOTATION: Final = "kubernetes.io/service-account.name"


class OtherBinding(Model):
    """A RoleBinding that the platform does not manage, for example because a user has created it."""

    namespace: str
    name: str
    role: str
    subjects: tuple[str, ...]


class TokenSecret(Model):
    """A Secret with a token of a service account. The token does not expire."""

    namespace: str
    name: str
    service_account: str


def read_other_bindings(
    cluster: Cluster, namespaces: Iterable[str]
) -> tuple[list[OtherBinding], Right | None]:
    """The RoleBindings that the platform does not manage, in these namespaces.

    If the user cannot list RoleBindings, the list is empty, and the second value is the missing right.
    """
    bindings, missing = _listed(cluster, ROLE_BINDING, namespaces)
    others = [each for each in bindings if MANAGED_LABEL not in (each["metadata"].get("labels") or {})]
    return list(map(_binding, others)), missing


def read_token_secrets(cluster: Cluster, namespaces: Iterable[str]) -> tuple[list[TokenSecret], Right | None]:
    """The Secrets with service account tokens in the namespaces, without the tokens.

    If the user cannot list Secrets, the list is empty, and the second value is the missing right.
    """
    secrets, missing = _listed(cluster, _SECRET, namespaces, _TOKEN_SECRETS)
    return list(map(_token_secret, secrets)), missing


def _listed(
    cluster: Cluster, kind: Kind, namespaces: Iterable[str], fields: str = ""
) -> tuple[list[Manifest], Right | None]:
    objects: list[Manifest] = []
    for namespace in namespaces:
        try:
            objects += cluster.list(kind, namespace=namespace, fields=fields, is_metadata_only=bool(fields))[
                0
            ]
        except ClusterError as error:
            if not error.is_forbidden:
                raise
            return [], Right("list", kind, namespace)
    return objects, None


def _binding(binding: Manifest) -> OtherBinding:
    metadata, role = binding["metadata"], binding["roleRef"]
    return OtherBinding(
        namespace=metadata["namespace"],
        name=metadata["name"],
        role=f"{role['kind']} {role['name']}",
        subjects=tuple(_subjects(binding)),
    )


def _subjects(binding: Manifest) -> Iterator[str]:
    for subject in binding.get("subjects") or ():
        namespace = f"{subject['namespace']}/" if subject.get("namespace") else ""
        yield f"{subject['kind']} {namespace}{subject['name']}"


def _token_secret(secret: Manifest) -> TokenSecret:
    metadata = secret["metadata"]
    account = (metadata.get("annotations") or {}).get(_ACCOUNT_ANNOTATION, "")
    return TokenSecret(namespace=metadata["namespace"], name=metadata["name"], service_account=account)
