"""The errors of the product. Each error has a reason. Conditions and Events show this reason.

TenancyError
├── Rejection              the spec of a Tenant cannot be applied; `field` is the path of the invalid field
│   ├── InvalidSpec        the spec or its plan is invalid; a retry fails until the spec or the plan changes
│   │   └── UnknownPlan    the plans file has no plan of this name
│   ├── NameTaken          an older Tenant in the other API group has the same name
│   ├── NamespaceTaken     a requested namespace belongs to somebody else, or cannot be adopted
│   │   └── AdoptionNotAllowed  the namespace lacks the annotation that names the tenant
│   ├── HostTaken          a requested host belongs to another tenant
│   ├── ObjectTaken        an object in `extraResources` would overwrite an object of a user
│   └── QuotaInUse         a namespace uses more than its new, lower share of the tenant's quotas
├── PlansError             the plans file is invalid
└── NotOffered             the type or the model of an AISession is not in the plans file
    └── UnknownModel       the plans file has no AI model of this name
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tenancy.base.reasons import Reason

# The maximum number of problems in one message. The status of an object contains the message.
_MAX_LISTED: Final = 10
# The maximum length of a field path, and of the text of one problem. Both can contain text of the user.
_MAX_LENGTH: Final = 1000


class TenancyError(Exception):
    """Base class of all errors. Conditions and Events show `reason`."""

    reason: str = "Error"


class Rejection(TenancyError):
    """The spec of a Tenant cannot be applied.

    `field` is the path of the field that causes the rejection. It is empty if no single field is the cause.
    `others` are further rejections of the same spec. The message of the error lists them too.
    """

    def __init__(self, field: str, problem: str, others: Iterable["Rejection"] = ()) -> None:
        self.field, self.problem, self.others = _shortened(field), _shortened(problem), tuple(others)
        super().__init__(joined_problems([rejection.text for rejection in self.each]))

    @property
    def text(self) -> str:
        """The field and the problem of this rejection, without the other rejections."""
        return f"{self.field}: {self.problem}" if self.field else self.problem

    @property
    def each(self) -> tuple["Rejection", ...]:
        """All rejections of the spec. This rejection comes first."""
        return (self, *self.others)


class InvalidSpec(Rejection):
    """The spec or its plan is invalid. A retry fails until the spec or the plan changes."""

    reason = Reason.INVALID_SPEC


class UnknownPlan(InvalidSpec):
    reason = Reason.UNKNOWN_PLAN


class NameTaken(Rejection):
    """An older Tenant in the other API group has the same name."""

    reason = Reason.NAME_TAKEN


class NamespaceTaken(Rejection):
    """A requested namespace belongs to somebody else, or cannot be adopted."""

    reason = Reason.NAMESPACE_TAKEN


class AdoptionNotAllowed(NamespaceTaken):
    """The namespace lacks the annotation that allows the tenant to adopt it."""


class HostTaken(Rejection):
    """A requested host belongs to another tenant."""

    reason = Reason.HOST_TAKEN


class ObjectTaken(Rejection):
    """An object in `extraResources` would overwrite an object that the platform does not manage."""

    reason = Reason.OBJECT_TAKEN


class QuotaInUse(Rejection):
    """A namespace uses more than its new, lower share of the tenant's quotas (`quotaScope: Tenant`)."""

    reason = Reason.QUOTA_IN_USE


class PlansError(TenancyError):
    """The plans file is invalid."""

    reason = Reason.INVALID_PLANS


class NotOffered(TenancyError):
    """The type or the model of an AISession is not in the plans file."""

    reason = "NotConfigured"


class UnknownModel(NotOffered):
    reason = "UnknownModel"


def joined_problems(problems: Sequence[str]) -> str:
    """The first 10 problems in one line. If there are 13, the line ends with `(and 3 more)`."""
    more = len(problems) - _MAX_LISTED
    listed = "; ".join(map(_shortened, problems[:_MAX_LISTED]))
    return listed + (f" (and {more} more)" if more > 0 else "")


def _shortened(text: str) -> str:
    """The text, shortened if it is longer than `_MAX_LENGTH`.

    A shortened text contains only the start and the end of the text, with `…` between them.
    """
    half = _MAX_LENGTH // 2
    return text if len(text) <= _MAX_LENGTH else f"{text[:half]} … {text[-half:]}"


def combined(rejections: Sequence[Rejection]) -> Rejection:
    """A copy of the first rejection, with a message that lists all rejections.

    `rejections` must not be empty.
    """
    first, *others = rejections
    return type(first)(first.field, first.problem, others)


def rejections_of(*checks: Callable[[], object]) -> list[Rejection]:
    """Call all checks, and return the rejections that they raise."""
    rejections: list[Rejection] = []
    for check in checks:
        try:
            check()
        except Rejection as error:
            rejections += error.each
    return rejections
