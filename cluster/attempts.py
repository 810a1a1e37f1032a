"""Sends the requests of isolation checks as impersonated users. The requests change nothing in the cluster.

Each request is a dry run, a read, an access review, or a connection to an object that does not exist.
"""

import json
from collections.abc import Callable
from typing import Final

from cluster.connection.impersonation import Impersonation
from cluster.connection.transport import JSON, Transport
from cluster.errors import ClusterError
from tenancy.base.kinds import SELF_ACCESS_REVIEW
from tenancy.base.manifest import Manifest
from tenancy.isolation.check import Actor, Request
from tenancy.isolation.evaluation import Answer

_METHODS: Final = {
    "create": "POST",
    "connect": "POST",
    "patch": "PATCH",
    "delete": "DELETE",
    "get": "GET",
    "list": "GET",
}
# The HTTP statuses that are an answer to the request. Other statuses show a problem of the API server.
_ANSWERS: Final = (400, 403, 404, 405, 409, 422)
_MERGE_PATCH: Final = "application/merge-patch+json"


class ImpersonationForbidden(ClusterError):
    """The caller cannot impersonate the user."""


class Attempts:
    """Sends the requests of isolation checks. `connect` creates a client that impersonates the given user."""

    def __init__(self, connect: Callable[[Impersonation], Transport]) -> None:
        self._connect = connect
        self._transports: dict[Actor, Transport] = {}

    def answer(self, actor: Actor, request: Request) -> Answer:
        """Send the request as the user `actor`, and return the answer, even if the API server rejects it.

        Raises ImpersonationForbidden if the caller cannot impersonate the user. Raises ClusterError if the
        API server does not answer.
        """
        if actor not in self._transports:
            self._transports[actor] = self._connect(Impersonation(actor.user, actor.groups))
        try:
            return _sent(self._transports[actor], request)
        except ClusterError as error:
            if error.status not in _ANSWERS:
                raise
            if "cannot impersonate resource" in str(error):
                raise ImpersonationForbidden(str(error), error.status) from None
            return Answer(status=error.status, message=str(error))


def _sent(transport: Transport, request: Request) -> Answer:
    if request.verb not in _METHODS:
        return _reviewed(transport, request)
    query, content_type = {}, JSON
    body: Manifest | None = request.body or None
    match request.verb:
        case "create":
            query = {"dryRun": "All"}
        case "patch":
            query, content_type = {"dryRun": "All"}, _MERGE_PATCH
        case "delete":
            # If a request has options in its body, the API server ignores `dryRun` in the query.
            body = {"dryRun": ["All"]}
        case "list":
            query = {"limit": "1"}
    response = transport.send(_METHODS[request.verb], request.path, query, body, content_type)
    return Answer(status=response.status)


def _reviewed(transport: Transport, request: Request) -> Answer:
    """Find out whether the user has a right for which HTTP has no method, such as `impersonate`.

    Sends a SelfSubjectAccessReview instead of the request. The returned answer has status 200 or 403.
    """
    attributes = {
        "verb": request.rbac_verb,
        "group": request.kind.group,
        "resource": request.kind.plural,
        "name": request.name,
        "namespace": request.namespace,
    }
    review = {
        "apiVersion": SELF_ACCESS_REVIEW.api_version,
        "kind": SELF_ACCESS_REVIEW.kind,
        "spec": {"resourceAttributes": attributes},
    }
    response = transport.send("POST", SELF_ACCESS_REVIEW.path(), {}, review)
    if json.loads(response.data)["status"]["allowed"]:
        return Answer(status=200)
    return Answer(status=403, message=f'the user cannot {request.rbac_verb} resource "{request.kind.plural}"')
