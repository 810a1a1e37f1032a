"""What can be wrong with a tenant before anything is applied.

    TenancyError
    ├── InvalidSpec        the spec, or the plan it names, cannot be built; a new spec is needed
    │   └── UnknownPlan    the plans file has no such plan
    └── PlansError         the plans file itself is broken

Raised by the models and the planning step, turned into status by the watcher.
"""

from pydantic import ValidationError


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


def validation_message(error: ValidationError, root: str) -> tuple[str, str]:
    """The first fault of a pydantic error as a Kubernetes field path and a sentence."""
    fault = error.errors(include_url=False)[0]
    path = root
    for part in fault["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    message = fault["msg"].removeprefix("Value error, ")
    more = len(error.errors()) - 1
    return path, message + (f" (and {more} more)" if more else "")
