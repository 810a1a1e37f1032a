"""The errors of the product. Each has a reason, which conditions and Events show.

TenancyError
├── Rejection              the spec of a Tenant cannot be applied; `field` is the field that causes it
│   ├── InvalidSpec        the spec or its plan is invalid; a retry fails until one of them changes
│   │   └── UnknownPlan    the plans file has no plan of this name
│   ├── NameTaken          an older Tenant in the other API group has the same name
│   ├── NamespaceTaken     a namespace belongs to somebody else, or cannot be adopted
│   ├── HostTaken          a host belongs to another tenant
│   ├── ObjectTaken        an extra object would overwrite an object that the platform does not manage
│   └── QuotaInUse         a namespace uses more than its new share of the tenant's budget
├── PlansError             the plans file is invalid
└── NotOffered             the plans file does not configure the type or the model of an AISession
    └── UnknownModel       the plans file has no AI model of this name
"""

from typing import TYPE_CHECKING, Final

from tenancy.base.reasons import Reason

if TYPE_CHECKING:
    from pydantic import ValidationError

_UNKNOWN_FIELD: Final = "extra_forbidden"
_WORDS: Final = {_UNKNOWN_FIELD: "there is no such field here", "missing": "is required"}


class TenancyError(Exception):
    """Base class of all errors. `reason` is the reason that conditions and Events show."""

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
    """A namespace belongs to somebody else, or cannot be adopted."""

    reason = Reason.NAMESPACE_TAKEN


class HostTaken(Rejection):
    """A host belongs to another tenant."""

    reason = Reason.HOST_TAKEN


class ObjectTaken(Rejection):
    """An object in `extraResources` would overwrite an object that the platform does not manage."""

    reason = Reason.OBJECT_TAKEN


class QuotaInUse(Rejection):
    """A namespace uses more than its new share of the tenant's budget (`quotaScope: Tenant`)."""

    reason = Reason.QUOTA_IN_USE


class PlansError(TenancyError):
    """The plans file is invalid."""

    reason = Reason.INVALID_PLANS


class NotOffered(TenancyError):
    """The plans file does not configure the type or the model of an AISession."""

    reason = "NotConfigured"


class UnknownModel(NotOffered):
    reason = "UnknownModel"


def validation_message(error: "ValidationError", root: str) -> tuple[str, str]:
    """The field path and the message of the first fault in a pydantic error.

    The path starts with `root`. Unknown fields come before other faults, because an unknown field is often a
    misspelt required field. In this case, pydantic also reports that the required field is missing.
    """
    faults = sorted(error.errors(include_url=False), key=lambda fault: fault["type"] != _UNKNOWN_FIELD)
    fault = faults[0]
    path = root
    for part in fault["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    message = _WORDS.get(fault["type"]) or fault["msg"].removeprefix("Value error, ")
    more = len(faults) - 1
    return path, message + (f" (and {more} more)" if more else "")
