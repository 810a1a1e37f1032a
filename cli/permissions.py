"""Checks whether the user has a permission, with a SelfSubjectAccessReview."""

from typing import Final

from cluster.client import Cluster
from tenancy.base.kinds import Kind

_REVIEW: Final = Kind("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False)


def is_allowed(cluster: Cluster, verb: str, kind: Kind, namespace: str = "", name: str = "") -> bool:
    """Whether the user may use the verb. An empty namespace or name stands for all namespaces or names."""
    resource, _, subresource = kind.plural.partition("/")
    attributes = {
        "verb": verb,
        "group": kind.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    review = {
        "apiVersion": _REVIEW.api_version,
        "kind": _REVIEW.kind,
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    return bool(cluster.create(_REVIEW, review)["status"]["allowed"])
