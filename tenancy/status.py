"""The Tenant's status, as the watcher writes it and `kubectl` shows it. Part of the CRDs' schema."""

from enum import StrEnum

from pydantic import Field

from tenancy.model import Model


class Phase(StrEnum):
    PENDING = "Pending"
    ACTIVE = "Active"
    TERMINATING = "Terminating"
    FAILED = "Failed"


class ConditionType(StrEnum):
    READY = "Ready"
    TENANT_READY = "TenantReady"
    NAMESPACE_READY = "NamespaceReady"
    DRIFTED = "Drifted"
    INTEGRATIONS_READY = "IntegrationsReady"


class Condition(Model):
    """A condition in Kubernetes' own form."""

    type: str
    status: str = Field(json_schema_extra={"enum": ["True", "False", "Unknown"]})
    reason: str
    message: str = ""
    last_transition_time: str = Field(json_schema_extra={"format": "date-time"})
    observed_generation: int | None = None


class ResourceUsage(Model):
    """What a namespace uses of its quota."""

    cpu: str | None = None
    memory: str | None = None
    storage: str | None = None


class NamespaceStatus(Model):
    ready: bool
    resource_usage: ResourceUsage = ResourceUsage()


class LastUpdate(Model):
    """The newest entry of the stack's history."""

    version: int | None = Field(
        default=None, description="How many updates the stack has had, this one included."
    )
    result: str = Field(description="succeeded or failed.")
    message: str = Field(default="", description="What caused it.")
    duration_seconds: float | None = None
    resource_changes: dict[str, int] = Field(default_factory=dict, description="Resources by operation.")


class TenantStatus(Model):
    phase: Phase = Phase.PENDING
    observed_generation: int | None = None
    conditions: tuple[Condition, ...] = Field(
        default=(),
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    namespace_count: int | None = None
    namespace_status: dict[str, NamespaceStatus] = Field(default_factory=dict)
    stack: str | None = Field(default=None, description="The Pulumi stack that holds the tenant.")
    last_update: LastUpdate | None = None
    protected: bool | None = Field(
        default=None, description="Whether deletion is refused, by the tenant's spec or by its plan."
    )
    hostnames: tuple[str, ...] = Field(default=(), description="The hosts that are this tenant's alone.")
    applied_digest: str | None = Field(
        default=None, description="Fingerprint of the desired state that was applied last."
    )
