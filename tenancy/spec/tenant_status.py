"""The Tenant's status, as the watcher writes it and `kubectl` shows it. Part of the CRDs' schema."""

from enum import StrEnum

from pydantic import Field

from tenancy.base.model import Model


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

    type: str = Field(description="Ready, TenantReady, NamespaceReady, Drifted or IntegrationsReady.")
    status: str = Field(
        description="Whether it holds.", json_schema_extra={"enum": ["True", "False", "Unknown"]}
    )
    reason: str = Field(description="Why, in one word for programs.")
    message: str = Field(default="", description="Why, in a sentence for people.")
    last_transition_time: str = Field(
        description="When `status` last changed.", json_schema_extra={"format": "date-time"}
    )
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec that this was said of."
    )


class ResourceUsage(Model):
    """What a namespace uses of its quota."""

    cpu: str | None = Field(default=None, description="CPU that its pods ask for.")
    memory: str | None = Field(default=None, description="Memory that its pods ask for.")
    storage: str | None = Field(default=None, description="Storage that its claims ask for.")


class NamespaceStatus(Model):
    """One namespace of the tenant."""

    ready: bool = Field(description="Whether it stands with all its objects.")
    resource_usage: ResourceUsage = Field(default=ResourceUsage(), description="What it uses of its quota.")


class QuotaUsage(Model):
    """What is used of a quota, and what it allows."""

    used: str = Field(description="What is used, summed up over the namespaces.")
    hard: str = Field(description="What is allowed, summed up over the namespaces.")


class TenantUsage(Model):
    """What the tenant uses, in all its namespaces together."""

    pods: int | None = Field(default=None, description="Its pods, where their number has a quota.")
    quotas: dict[str, QuotaUsage] = Field(
        default_factory=dict, description="Its quotas by resource: cpu, memory, storage, pods."
    )
    cpu: str | None = Field(
        default=None, description="CPU in use, within a tenth, where the cluster serves metrics.k8s.io."
    )
    memory: str | None = Field(
        default=None, description="Memory in use, within a tenth, where the cluster serves metrics.k8s.io."
    )


class LastUpdate(Model):
    """The newest entry of the stack's history."""

    version: int | None = Field(
        default=None, description="How many updates the stack has had, this one included."
    )
    result: str = Field(description="succeeded or failed.")
    message: str = Field(default="", description="What caused it.")
    time: str | None = Field(
        default=None, description="When it ended, if it succeeded.", json_schema_extra={"format": "date-time"}
    )
    duration_seconds: float | None = Field(default=None, description="How long it took.")
    resource_changes: dict[str, int] = Field(default_factory=dict, description="Resources by operation.")


class TenantStatus(Model):
    """What has become of the tenant."""

    phase: Phase = Field(default=Phase.PENDING, description="Where it stands, in one word.")
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec that this status speaks of."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Where it stands, point by point.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    namespace_count: int | None = Field(default=None, description="How many namespaces it has.")
    namespace_status: dict[str, NamespaceStatus] = Field(
        default_factory=dict, description="Its namespaces, by full name."
    )
    missing_crds: dict[str, tuple[str, ...]] | None = Field(
        default=None, description="The CRDs that the cluster lacks, by integration."
    )
    usage: TenantUsage | None = Field(
        default=None, description="What it uses of its quotas, and of machines."
    )
    stack: str | None = Field(default=None, description="The Pulumi stack that holds the tenant.")
    last_update: LastUpdate | None = Field(default=None, description="The stack's newest update.")
    protected: bool | None = Field(
        default=None, description="Whether deletion is refused, by the tenant's spec or by its plan."
    )
    hostnames: tuple[str, ...] = Field(default=(), description="The hosts that are this tenant's alone.")
    applied_digest: str | None = Field(
        default=None, description="Fingerprint of the desired state that was applied last."
    )
