"""The models of an AISession's spec and status.

The CRD is generated from these models. The models do not check that `spec.tenantRef` names the tenant that
owns the session's namespace. An admission policy checks this.
"""

import re
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints
from pydantic.config import JsonDict

from tenancy.base.fields import DnsLabel
from tenancy.base.model import Model
from tenancy.base.quantity import Quantity, quantity_value

_DURATION: Final = r"([0-9]{1,7}h)?([0-9]{1,7}m)?([0-9]{1,7}s)?"
_DURATION_MAX_H: Final = 168
_AMOUNT_ADVICE: Final = "must be more than 0: a limit of 0 would mean no limit"
_DURATION_ADVICE: Final = f"must be between 1s and {_DURATION_MAX_H}h, such as 90s, 30m or 1h30m"


def duration_s(text: str) -> int:
    """A duration in seconds. For `1h30m`, the result is 5400. Raises ValueError for an invalid text."""
    match = re.fullmatch(_DURATION, text)
    if not text or match is None:
        raise ValueError(f"{text!r} {_DURATION_ADVICE}")
    hours, minutes, seconds = (int(part[:-1]) if part else 0 for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def duration_text(seconds: int) -> str:
    """A number of seconds as text. For 5400, the result is `1h30m`. For negative numbers, it is `0s`."""
    hours, remainder_s = divmod(max(seconds, 0), 3600)
    parts = ((hours, "h"), (remainder_s // 60, "m"), (remainder_s % 60, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def _check_duration(text: str) -> str:
    if not 1 <= duration_s(text) <= _DURATION_MAX_H * 3600:
        raise ValueError(f"{text!r} {_DURATION_ADVICE}")
    return text


Duration = Annotated[
    str,
    AfterValidator(_check_duration),
    Field(
        json_schema_extra={
            "maxLength": 24,
            "minLength": 2,
            "pattern": f"^{_DURATION}$",
            "x-kubernetes-validations": [
                {
                    "rule": "duration(self) >= duration('1s') "
                    f"&& duration(self) <= duration('{_DURATION_MAX_H}h')",
                    "message": _DURATION_ADVICE,
                }
            ],
        }
    ),
]
Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class SessionType(StrEnum):
    ANALYSIS = "analysis"
    AUTOMATION = "automation"
    RESEARCH = "research"


class SessionPhase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TERMINATED = "Terminated"


FINAL_PHASES: Final = (SessionPhase.COMPLETED, SessionPhase.FAILED, SessionPhase.TERMINATED)


class SessionReason(StrEnum):
    """The values of `status.reason` that the platform sets. Other values come from the Job or the pod."""

    QUEUED = "Queued"
    QUOTA_EXCEEDED = "QuotaExceeded"
    NOT_CONFIGURED = "NotConfigured"
    UNKNOWN_MODEL = "UnknownModel"
    POD_REFUSED = "PodRefused"
    JOB_EXISTS = "JobExists"
    TENANT_NOT_READY = "TenantNotReady"
    TENANT_PAUSED = "TenantPaused"
    TENANT_CORDONED = "TenantCordoned"
    TENANT_TERMINATING = "TenantTerminating"
    STARTING = "Starting"
    INVALID_SPEC = "InvalidSpec"
    FOREIGN_NAMESPACE = "ForeignNamespace"
    JOB_DELETED = "JobDeleted"
    DEADLINE_EXCEEDED = "DeadlineExceeded"


class TenantRef(Model):
    name: DnsLabel = Field(
        description="The name of the tenant that owns the session's namespace. The session counts against "
        "the tenant's quota."
    )


def _check_is_positive(text: str) -> str:
    if not quantity_value(text):
        raise ValueError(_AMOUNT_ADVICE)
    return text


def _positive_rule(field: str) -> JsonDict:
    # This rule accepts text that is not a quantity. A rule of the type `Quantity` rejects such text with a
    # better message.
    text_rule = f"!isQuantity(self.{field}) || quantity(self.{field}).isGreaterThan(quantity('0'))"
    rule = f"!has(self.{field}) || (type(self.{field}) == int ? self.{field} > 0 : {text_rule})"
    return {"rule": rule, "message": _AMOUNT_ADVICE, "fieldPath": f".{field}"}


class SessionResources(Model):
    """The requests and limits of the session's container."""

    model_config = ConfigDict(
        json_schema_extra={"x-kubernetes-validations": [_positive_rule("cpu"), _positive_rule("memory")]}
    )

    cpu: Annotated[Quantity, AfterValidator(_check_is_positive)] = Field(
        default="500m", description="The CPU request and the CPU limit."
    )
    memory: Annotated[Quantity, AfterValidator(_check_is_positive)] = Field(
        default="1Gi", description="The memory request and the memory limit."
    )


class AISessionSpec(Model):
    """The session to run. The spec can't be changed if the session has a Job or has ended."""

    tenant_ref: TenantRef = Field(description="The tenant that the session belongs to.")
    session_type: SessionType = Field(
        description="The type of the session. The platform's plans file defines the image and the command "
        "of each type."
    )
    ai_model: Annotated[str, StringConstraints(min_length=1, max_length=253)] | None = Field(
        default=None,
        description="The name of a model in the platform's plans file. Default: the model that the plans "
        "file sets for the session type.",
    )
    resources: SessionResources = Field(
        default=SessionResources(),
        description="The CPU and the memory of the session. Both count against the tenant's quota.",
    )
    timeout: Duration = Field(
        default="30m",
        description="The maximum duration of the session. If the session has not ended after "
        "this time, it is terminated.",
    )


class SessionMetrics(Model):
    tokens_used: Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})] | None = Field(
        default=None,
        description="The number of tokens that the session used. The field is set only if the "
        "session reports this number.",
    )
    execution_time: str | None = Field(
        default=None, description="The time from start to completion, such as 12m3s."
    )


class SessionResults(Model):
    output_data: str | None = Field(
        default=None, description="The output that the session wrote to its result file, at most 4096 bytes."
    )
    metrics: SessionMetrics | None = Field(default=None, description="Measurements of the session.")


class AISessionStatus(Model):
    phase: SessionPhase = Field(default=SessionPhase.PENDING, description="The phase of the session.")
    reason: str | None = Field(
        default=None, description="The reason why the session is in this phase, as a CamelCase word."
    )
    message: str | None = Field(default=None, description="Details about the reason, as text for people.")
    job: str | None = Field(
        default=None,
        description="The name of the Job that runs the session. The field is empty until the Job is created.",
    )
    ai_model: str | None = Field(
        default=None,
        description="The name of the model that the session uses. The field is empty until "
        "the session's Job is created.",
    )
    start_time: Timestamp | None = Field(default=None, description="The time when the session began to run.")
    completion_time: Timestamp | None = Field(default=None, description="The time when the session ended.")
    results: SessionResults | None = Field(default=None, description="The session's output and metrics.")


# The rule is on the whole object, because a rule on the spec can't read the status.
AISESSION_RULES: Final = [
    {
        "rule": "self.spec == oldSelf.spec || !has(oldSelf.status) || !has(oldSelf.status.phase) "
        f"|| oldSelf.status.phase == '{SessionPhase.PENDING}' && !has(oldSelf.status.job)",
        "message": "spec: can't be changed once the session runs or has ended; create a new session instead",
        "fieldPath": ".spec",
    }
]
AISESSION_COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "Tenant", "type": "string", "jsonPath": ".spec.tenantRef.name"},
    {"name": "Type", "type": "string", "jsonPath": ".spec.sessionType"},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Reason", "type": "string", "jsonPath": ".status.reason"},
    {"name": "Model", "type": "string", "jsonPath": ".status.aiModel", "priority": 1},
    {"name": "Timeout", "type": "string", "jsonPath": ".spec.timeout", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]
