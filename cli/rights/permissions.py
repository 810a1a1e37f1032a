"""Represents rights, and checks with SelfSubjectAccessReviews whether the user has them."""

from collections.abc import Iterable
from typing import NamedTuple

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import SELF_ACCESS_REVIEW, SELF_SUBJECT_REVIEW, Kind


class Right(NamedTuple):
    """The right to use a verb, such as `list`, on objects of a kind.

    An empty namespace means all namespaces. An empty name means all objects.
    """

    verb: str
    kind: Kind
    namespace: str = ""
    name: str = ""

    @property
    def resource(self) -> str:
        return f"{self.kind.resource}/{self.name}" if self.name else self.kind.resource

    @property
    def scope(self) -> str:
        if not self.kind.is_namespaced:
            return ""
        return f" in namespace {self.namespace}" if self.namespace else " in all namespaces"

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{self.scope}"


class MissingRight(TenancyError):
    """The user lacks a right that a command needs. The message names the right."""

    reason = "MissingRight"


def rights_text(rights: Iterable[Right]) -> str:
    """The rights as text, such as `list pods, secrets in namespace a; get nodes`.

    The text combines rights that have the same verb and namespace.
    """
    resources: dict[tuple[str, str], list[str]] = {}
    for right in rights:
        resources.setdefault((right.verb, right.scope), []).append(right.resource)
    return "; ".join(f"{verb} {', '.join(names)}{scope}" for (verb, scope), names in resources.items())


def is_allowed(cluster: Cluster, right: Right) -> bool:
    """Ask the API server whether the user has the right."""
    resource, _, subresource = right.kind.plural.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.kind.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    review = {
        "apiVersion": SELF_ACCESS_REVIEW.api_version,
        "kind": SELF_ACCESS_REVIEW.kind,
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    return bool(cluster.create(SELF_ACCESS_REVIEW, review)["status"]["allowed"])


def user_name(cluster: Cluster) -> str:
    """The name of the current user. Empty if the API server does not return the name."""
    review = {"apiVersion": SELF_SUBJECT_REVIEW.api_version, "kind": SELF_SUBJECT_REVIEW.kind, "metadata": {}}
    try:
        return str(cluster.create(SELF_SUBJECT_REVIEW, review)["status"]["userInfo"]["username"])
    except ClusterError as error:
        if not error.is_refusal and error.status != 404:
            raise
        return ""
