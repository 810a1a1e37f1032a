"""An AISession: a piece of work that an AI model does for a tenant, as its users write it and as it went.

The CRD is generated from these models. Whether the tenant owns the namespace is not known here.
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
_LONGEST_H: Final = 168
_SOME_ADVICE: Final = "must be more than 0: a limit of 0 would be none at all"
_DURATION_ADVICE: Final = f"must be between 1s and {_LONGEST_H}h, such as 90s, 30m or 1h30m"


def duration_s(text: str) -> int:
    """The seconds in a duration such as 1h30m; ValueError where it is none."""
    form = re.fullmatch(_DURATION, text)
    if not text or form is None:
        raise ValueError(f"{text!r} {_DURATION_ADVICE}")
    hours, minutes, seconds = (int(part[:-1]) if part else 0 for part in form.groups())
    return hours * 3600 + minutes * 60 + seconds


def duration_text(seconds: int) -> str:
    """Seconds as a duration such as 1h30m; the inverse of `duration_s`."""
    hours, rest = divmod(max(seconds, 0), 3600)
    parts = ((hours, "h"), (rest // 60, "m"), (rest % 60, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def _checked(text: str) -> str:
    if not 1 <= duration_s(text) <= _LONGEST_H * 3600:
        raise ValueError(f"{text!r} {_DURATION_ADVICE}")
    return text


Duration = Annotated[
    str,
    StringConstraints(pattern=f"^{_DURATION}$", min_length=2, max_length=24),
    AfterValidator(_checked),
    Field(
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "duration(self) >= duration('1s') "
                    f"&& duration(self) <= duration('{_LONGEST_H}h')",
                    "message": _DURATION_ADVICE,
                }
            ]
        }
    ),
]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


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
    """Why a session is in its phase, where the platform itself says so; other reasons are Kubernetes' own."""

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
    name: DnsLabel = Field(description="The tenant that the session is charged to; the namespace is its own.")


def _some(text: str) -> str:
    if not quantity_value(text):
        raise ValueError(_SOME_ADVICE)
    return text


def _some_rule(field: str) -> JsonDict:
    # What is no quantity at all is told by the field's own rule.
    text = f"!isQuantity(self.{field}) || quantity(self.{field}).isGreaterThan(quantity('0'))"
    rule = f"!has(self.{field}) || (type(self.{field}) == int ? self.{field} > 0 : {text})"
    return {"rule": rule, "message": _SOME_ADVICE, "fieldPath": f".{field}"}


class SessionResources(Model):
    """What the session asks for, and is limited to."""

    model_config = ConfigDict(
        json_schema_extra={"x-kubernetes-validations": [_some_rule("cpu"), _some_rule("memory")]}
    )

    cpu: Annotated[Quantity, AfterValidator(_some)] = Field(default="500m", description="CPU.")
    memory: Annotated[Quantity, AfterValidator(_some)] = Field(default="1Gi", description="Memory.")


class AISessionSpec(Model):
    """What is to be done. It can't be changed any more once the session runs."""

    tenant_ref: TenantRef = Field(description="Whose session it is.")
    session_type: SessionType = Field(description="What is to be done; image and command go by it.")
    ai_model: Annotated[str, StringConstraints(min_length=1, max_length=253)] | None = Field(
        default=None, description="The model to use; left out: the session type's own."
    )
    resources: SessionResources = Field(
        default=SessionResources(), description="What it may use of the tenant's quota."
    )
    timeout: Duration = Field(default="30m", description="When it is ended if it has not ended by itself.")


class SessionMetrics(Model):
    tokens_used: Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})] | None = None
    execution_time: str | None = Field(default=None, description="How long it ran, such as 12m3s.")


class SessionResults(Model):
    output_data: str | None = Field(default=None, description="What came out, or where it lies.")
    metrics: SessionMetrics | None = None


class AISessionStatus(Model):
    phase: SessionPhase = SessionPhase.PENDING
    reason: str | None = Field(default=None, description="Why it is in this phase, in one word.")
    message: str | None = Field(default=None, description="The same for people.")
    job: str | None = Field(default=None, description="The Job that does the work, once there is one.")
    start_time: Time | None = None
    completion_time: Time | None = None
    results: SessionResults | None = None


# On the whole object: only there can the spec be judged by the status.
AISESSION_RULES: Final = [
    {
        "rule": "self.spec == oldSelf.spec || !has(oldSelf.status) || !has(oldSelf.status.phase) "
        f"|| oldSelf.status.phase == '{SessionPhase.PENDING}' && !has(oldSelf.status.job)",
        "message": "spec: can't be changed once the session runs or has ended; delete it and make a new one",
        "fieldPath": ".spec",
    }
]
AISESSION_COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "Tenant", "type": "string", "jsonPath": ".spec.tenantRef.name"},
    {"name": "Type", "type": "string", "jsonPath": ".spec.sessionType"},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Reason", "type": "string", "jsonPath": ".status.reason"},
    {"name": "Model", "type": "string", "jsonPath": ".spec.aiModel", "priority": 1},
    {"name": "Timeout", "type": "string", "jsonPath": ".spec.timeout", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]
