"""What can be wrong with a tenant before anything is applied.

    TenancyError
    ├── InvalidSpec        the spec, or the plan it names, cannot be built; a new spec is needed
    │   └── UnknownPlan    the plans file has no such plan
    ├── PlansError         the plans file itself is broken
    └── NotOffered         an AISession asks for what the plans file does not offer
        └── UnknownModel   for a model that is not there

Raised by the models and the planning step, turned into status by the watcher.
"""

from typing import Final

from pydantic import ValidationError

_UNKNOWN_FIELD: Final = "extra_forbidden"
_WORDS: Final = {_UNKNOWN_FIELD: "there is no such field here", "missing": "is required"}


class TenancyError(Exception):
    """A fault in what was asked for. `reason` is its name in conditions and events."""

    reason = "Error"


class InvalidSpec(TenancyError):
    """The spec cannot be built as it stands."""

    reason = "InvalidSpec"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


class UnknownPlan(InvalidSpec):
    reason = "UnknownPlan"


class PlansError(TenancyError):
    """The plans file cannot be used."""

    reason = "InvalidPlans"


class NotOffered(TenancyError):
    """The platform has nothing that runs a session of this type."""

    reason = "NotConfigured"


class UnknownModel(NotOffered):
    reason = "UnknownModel"


def validation_message(error: ValidationError, root: str) -> tuple[str, str]:
    """The first fault of a pydantic error as a Kubernetes field path and a sentence.

    A misspelt field is told before the one that it was meant to be.
    """
    faults = sorted(error.errors(include_url=False), key=lambda fault: fault["type"] != _UNKNOWN_FIELD)
    fault = faults[0]
    path = root
    for part in fault["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    message = _WORDS.get(fault["type"]) or fault["msg"].removeprefix("Value error, ")
    more = len(faults) - 1
    return path, message + (f" (and {more} more)" if more else "")
