"""Asks the API server whether the users of a tenant have rights that they must not have.

The requests are SubjectAccessReviews, so the caller needs no right to impersonate the users.
"""

from dataclasses import replace
from typing import Final

from cluster.client import Cluster
from tenancy.base.kinds import SUBJECT_ACCESS_REVIEW
from tenancy.base.manifest import Manifest
from tenancy.isolation.catalog import CHECKS
from tenancy.isolation.check import Actor, Layer, NotApplicable, Request
from tenancy.isolation.target import Target, actors

# Each check in `CHECKS` sends a request that the API server must reject. This list contains only the checks
# whose request RBAC alone rejects. A SubjectAccessReview evaluates RBAC, but no admission policies or quotas.
REVIEWED_CHECKS: Final = tuple(
    check for check in CHECKS if check.attempt and all(each.layer is Layer.RBAC for each in check.protections)
)


def review_rights(cluster: Cluster, target: Target) -> dict[str, str]:
    """Find the forbidden rights that users of the tenant in `target` have.

    Sends one SubjectAccessReview per check. Returns one message for each failed check, such as `USER may
    delete networkpolicies`. The keys are the IDs of the checks.
    """
    users, failures = actors(target.desired), {}
    for check in REVIEWED_CHECKS:
        actor = users.get(check.role)
        if actor is None or check.attempt is None:
            continue
        try:
            request = check.attempt(replace(target, namespace=actor.namespace))
        except NotApplicable:
            continue
        verb = check.protections[0].name or request.rbac_verb
        if _is_allowed(cluster, actor, request, verb):
            failures[check.id] = f"{actor} may {verb} {request.kind.resource}"
    return failures


def _is_allowed(cluster: Cluster, actor: Actor, request: Request, verb: str) -> bool:
    """Ask the API server whether RBAC allows the user `actor` to use the verb on the request's object."""
    attributes = {
        "verb": verb,
        "group": request.kind.group,
        "resource": request.kind.plural,
        "subresource": request.subresource,
        "namespace": request.namespace,
        "name": request.name,
    }
    user = {"user": actor.user, "groups": [*actor.groups, "system:authenticated"]}
    return is_granted(cluster, user, {"resourceAttributes": attributes})


def is_granted(cluster: Cluster, user: Manifest, attributes: Manifest) -> bool:
    """Ask the API server whether a user has a right, with a SubjectAccessReview.

    `user` contains the fields of the review's spec that identify the user, such as `user` and `groups`.
    `attributes` contains the right: the field `resourceAttributes` or `nonResourceAttributes` of the spec.
    """
    kind = SUBJECT_ACCESS_REVIEW
    review = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {},
        "spec": {**user, **attributes},
    }
    return bool((cluster.create(kind, review).get("status") or {}).get("allowed"))
