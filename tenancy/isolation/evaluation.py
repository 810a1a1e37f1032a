"""Decides whether a check has passed. No I/O.

The decision depends on the API server's answer to the request, and on the state of the protections.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from http import HTTPStatus
from typing import Final

from tenancy.base.model import Model
from tenancy.isolation.check import BASELINE, RESTRICTED, Check, Layer, Protection, policy
from tenancy.isolation.comparison import Problems
from tenancy.isolation.target import Target
from tenancy.spec.settings import PodSecurity

# Regular expressions for the API server's message. They identify the layer that rejected the request.
_PATTERNS: Final = {
    Layer.POD_SECURITY: "violates PodSecurity",
    Layer.RBAC: r'cannot \w+ resource "|attempting to grant RBAC permissions not currently held',
    Layer.LIMITS: "usage per Container is",
}
# The API server returns these codes if it authorized and admitted the request, but the object does not exist,
# or exists already.
_PASSED_STATUSES: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
_NOT_SERVED: Final = "the server could not find the requested resource"
_MAX_TEXT: Final = 300


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Result(Model):
    """The result of one check. The commands print a list of these results."""

    id: str
    title: str
    level: int
    role: str
    # The identity that has sent the request, and the request. Empty if no request was sent.
    user: str = ""
    attempt: str = ""
    # The protections that must reject the request.
    expected: str
    outcome: Outcome
    answer: str


class Answer(Model):
    """The answer of the API server to a request."""

    status: int
    message: str = ""

    @property
    def is_allowed(self) -> bool:
        return self.status < HTTPStatus.BAD_REQUEST or self.status in _PASSED_STATUSES

    @property
    def is_served(self) -> bool:
        """Whether the API server serves the kind of object in the request."""
        return self.status != HTTPStatus.NOT_FOUND or _NOT_SERVED not in self.message


def is_lowered(check: Check, target: Target) -> bool:
    """Whether the tenant's Pod Security level allows the request of the check.

    False if the check has a protection in a layer other than POD_SECURITY.
    """
    order = list(PodSecurity)
    lowest = {BASELINE: PodSecurity.BASELINE, RESTRICTED: PodSecurity.RESTRICTED}
    return all(
        protection in lowest and order.index(target.settings.pod_security) < order.index(lowest[protection])
        for protection in check.protections
    )


def rejecting(protections: Iterable[Protection], answer: Answer) -> Protection | None:
    """The first of `protections` that rejected the request. None if none of them rejected it."""
    return next((each for each in protections if _has_rejected(each, answer)), None)


def _has_rejected(protection: Protection, answer: Answer) -> bool:
    match protection.layer:
        case Layer.POLICY:
            return f"ValidatingAdmissionPolicy '{protection.name}'" in answer.message
        case Layer.QUOTA:
            return f"exceeded quota: {protection.name}," in answer.message
        case Layer.SCHEMA:
            return answer.status == HTTPStatus.UNPROCESSABLE_ENTITY
        case Layer.OBJECT:
            return False
    return re.search(_PATTERNS[protection.layer], answer.message) is not None


def attempt_outcome(check: Check, target: Target, answer: Answer) -> tuple[Outcome, str]:
    """The outcome of a check whose request got this answer, and a text that explains the outcome."""
    if not answer.is_served:
        return Outcome.SKIPPED, "the cluster does not serve this kind"
    if answer.is_allowed:
        return Outcome.FAILED, "allowed"
    accepted = [*check.protections, *([policy("cordoned")] if target.tenant.spec.cordoned else [])]
    if protection := rejecting(accepted, answer):
        return Outcome.PASSED, f"rejected by {protection}"
    return Outcome.FAILED, f"rejected, but by none of the expected protections: {answer.message[:_MAX_TEXT]}"


def compared_outcome(check: Check, problems: Problems) -> tuple[Outcome, str]:
    """The outcome of a check that sends no request, and a text that explains the outcome.

    The outcome is FAILED if a protection of the check has a problem. Otherwise, the outcome is PASSED.
    """
    messages = [problems[protection] for protection in check.protections if protection in problems]
    return (Outcome.FAILED, "; ".join(messages)) if messages else (Outcome.PASSED, "as desired")
