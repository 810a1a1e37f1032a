"""The errors of the product. Each error has a reason. Conditions and Events show this reason.

TenancyError
├── Rejection              the spec of a Tenant cannot be applied; `field` is the cause
│   ├── InvalidSpec        the spec or its plan is invalid; a retry fails until the spec or the plan changes
│   │   └── UnknownPlan    the plans file has no plan of this name
│   ├── NameTaken          an older Tenant in the other API group has the same name
│   ├── NamespaceTaken     a requested namespace belongs to somebody else, or cannot be adopted
│   ├── HostTaken          a requested host belongs to another tenant
│   ├── ObjectTaken        an object in `extraResources` would overwrite an object of a user
│   └── QuotaInUse         a namespace uses more than its new share of the tenant's quotas
├── PlansError             the plans file is invalid
└── NotOffered             the type or the model of an AISession is not in the plans file
    └── UnknownModel       the plans file has no AI model of this name
"""

from typing import TYPE_CHECKING, Final

from tenancy.base.reasons import Reason

if TYPE_CHECKING:
    from pydantic import ValidationError

_UNKNOWN_FIELD: Final = "extra_forbidden"
_WORDS: Final = {_UNKNOWN_FIELD: "there is no such field here", "missing": "is required"}


class TenancyError(Exception):
    """Base class of all errors. Conditions and Events show `reason`."""

    reason: str = "Error"


class Rejection(TenancyError):
    """The spec of a Tenant cannot be applied.

    `field` is the path of the field that causes the rejection. It is empty if no single field is the cause.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field


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


class HostTaken(Rejection):
    """A requested host belongs to another tenant."""

    reason = Reason.HOST_TAKEN


class ObjectTaken(Rejection):
    """An object in `extraResources` would overwrite an object that the platform does not manage."""

    reason = Reason.OBJECT_TAKEN


class QuotaInUse(Rejection):
    """A namespace uses more than its new share of the tenant's quotas (`quotaScope: Tenant`)."""

    reason = Reason.QUOTA_IN_USE


class PlansError(TenancyError):
    """The plans file is invalid."""

    reason = Reason.INVALID_PLANS


class NotOffered(TenancyError):
    """The type or the model of an AISession is not in the plans file."""

    reason = "NotConfigured"


class UnknownModel(NotOffered):
    reason = "UnknownModel"


def validation_message(error: "ValidationError", root: str) -> tuple[str, str]:
    """The field path and the message of the first fault in a pydantic error.

    The path starts with `root`. If a required field is misspelt, pydantic reports two faults: an unknown
    field, and a missing field. The unknown field shows the mistake better, so unknown fields come first.
    """
    faults = sorted(error.errors(include_url=False), key=lambda fault: fault["type"] != _UNKNOWN_FIELD)
    fault = faults[0]
    path = root
    for part in fault["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    message = _WORDS.get(fault["type"]) or fault["msg"].removeprefix("Value error, ")
    more = len(faults) - 1
    return path, message + (f" (and {more} more)" if more else "")
