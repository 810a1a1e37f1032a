"""The models of a Tenant's status."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from tenancy.base.manifest import Manifest
from tenancy.base.model import Model, StoredModel


class Phase(StrEnum):
    PENDING = "Pending"
    ACTIVE = "Active"
    TERMINATING = "Terminating"
    FAILED = "Failed"


class ConditionType(StrEnum):
    READY = "Ready"
    TENANT_READY = "TenantReady"
    NAMESPACE_READY = "NamespaceReady"
    SPEC_APPLIED = "SpecApplied"
    DRIFTED = "Drifted"
    INTEGRATIONS_READY = "IntegrationsReady"
    ISOLATED = "Isolated"


class Condition(Model):
    """A condition of the tenant, as Kubernetes defines conditions."""

    type: str = Field(
        description="The type of the condition: `Ready`, `TenantReady`, `NamespaceReady`, `SpecApplied`, "
        "`Drifted`, `IntegrationsReady` or `Isolated`.",
    )
    status: str = Field(
        description="Whether the condition is true.", json_schema_extra={"enum": ["True", "False", "Unknown"]}
    )
    reason: str = Field(
        description="The reason for the status, as one CamelCase word.",
    )
    message: str = Field(
        default="",
        description="Details about the reason, as readable text.",
    )
    last_transition_time: str = Field(
        description="The time when `status` last changed.",
        json_schema_extra={"format": "date-time"},
    )
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec that the condition was set for."
    )


class ResourceUsage(Model):
    """The used amounts of a namespace's quotas."""

    cpu: str | None = Field(default=None, description="The sum of the CPU requests of the pods.")
    memory: str | None = Field(default=None, description="The sum of the memory requests of the pods.")
    storage: str | None = Field(
        default=None, description="The sum of the storage requests of the PersistentVolumeClaims."
    )


class NamespaceStatus(Model):
    """The status of one namespace of the tenant."""

    ready: bool = Field(
        description="Whether the watcher has applied the namespace and its objects.",
    )
    resource_usage: ResourceUsage = Field(
        default=ResourceUsage(),
        description="The used amounts of the namespace's quotas.",
    )


class QuotaUsage(Model):
    """The used amount and the limit of one resource."""

    used: str = Field(description="The used amount, summed over the tenant's namespaces.")
    hard: str = Field(
        description="The limit, summed over the tenant's namespaces.",
    )


class TenantUsage(Model):
    """The resource usage of the tenant, summed over its namespaces."""

    pods: int | None = Field(
        default=None,
        description="The number of pods. It is set only if a quota limits the number of pods.",
    )
    quotas: dict[str, QuotaUsage] = Field(
        default_factory=dict,
        description="The used amount and the limit of each resource. The keys are `cpu`, `memory`, `storage` "
        "and `pods`.",
    )
    cpu: str | None = Field(
        default=None,
        description="The measured CPU usage of the pods. It is set only if the cluster serves "
        "metrics.k8s.io. Small changes are not written to the status.",
    )
    memory: str | None = Field(
        default=None,
        description="The measured memory usage of the pods. It is set only if the cluster serves "
        "metrics.k8s.io. Small changes are not written to the status.",
    )


class LastUpdate(Model):
    """The newest update of the tenant's stack."""

    version: int | None = Field(default=None, description="The number of the update in the stack's history.")
    result: str = Field(description="The result of the update: `succeeded` or `failed`.")
    message: str = Field(default="", description="The cause of the update.")
    time: str | None = Field(
        default=None,
        description="The time when the update ended. It is set only if the update succeeded.",
        json_schema_extra={"format": "date-time"},
    )
    duration_seconds: float | None = Field(default=None, description="The duration of the update in seconds.")
    resource_changes: dict[str, int] = Field(
        default_factory=dict,
        description="The number of resources for each operation of Pulumi, such as `create` or `same`.",
    )


# An object with any fields, which the API server does not check.
AnyObject = Annotated[
    dict[str, Any], WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
]


class SpecResult(StrEnum):
    """The result of a change to the spec."""

    PENDING = "Pending"
    APPLIED = "Applied"
    # The change needed no update, because it changed no object.
    UNCHANGED = "Unchanged"
    REJECTED = "Rejected"
    FAILED = "Failed"
    PAUSED = "Paused"


class SpecChange(StoredModel):
    """A change to the spec: its author, message and result."""

    generation: int = Field(description="The generation to which the change led.")
    time: str = Field(description="The time of the change.", json_schema_extra={"format": "date-time"})
    user: str = Field(
        default="", description="The user who wrote the spec. Empty if the API server did not check the user."
    )
    manager: str = Field(default="", description="The field manager that wrote the spec.")
    message: str = Field(default="", description="The message that describes the change.")
    commit: str = Field(default="", description="The commit, according to a GitOps tool.")
    commit_author: str = Field(
        default="", description="The author of the commit, according to a GitOps tool."
    )
    claims_hash: str = Field(
        default="",
        description="A hash of the annotations that describe the commit. Empty if there are none.",
    )
    result: SpecResult = Field(default=SpecResult.PENDING, description="The result of the change.")
    reason: str = Field(
        default="", description="The reason why the change is not applied, as one CamelCase word."
    )
    detail: str = Field(default="", description="Details about the reason, as readable text.")
    spec: AnyObject | None = Field(
        default=None, description="The rejected spec. Other specs, and very long specs, are not stored here."
    )


class BoundSubject(Model):
    """A user, a group or a service account to which the spec gives access."""

    kind: str = Field(description="The kind of the subject: `User`, `Group` or `ServiceAccount`.")
    name: str = Field(description="The name of the subject.")
    namespace: str | None = Field(
        default=None,
        description="The namespace of a service account. If it is omitted, the entry is for the service "
        "account of this name in each of the tenant's namespaces.",
    )


class TenantStatus(Model):
    """The observed state of a tenant. The watcher writes it."""

    phase: Phase = Field(default=Phase.PENDING, description="A summary of the tenant's state in one word.")
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec that this status was written for."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="The conditions of the tenant.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    namespace_count: int | None = Field(default=None, description="The number of the tenant's namespaces.")
    namespace_status: dict[str, NamespaceStatus] = Field(
        default_factory=dict,
        description="The status of each namespace. The keys are the full names of the namespaces.",
    )
    missing_crds: dict[str, tuple[str, ...]] | None = Field(
        default=None,
        description="The CRDs that enabled integrations need, but the cluster does not have. The keys are "
        "the integrations.",
    )
    usage: TenantUsage | None = Field(
        default=None, description="The tenant's quota usage, and its measured CPU and memory usage."
    )
    stack: str | None = Field(default=None, description="The name of the tenant's Pulumi stack.")
    last_update: LastUpdate | None = Field(
        default=None,
        description="The newest update of the stack. An update is one run of `pulumi up`.",
    )
    protected: bool | None = Field(
        default=None,
        description="Whether the API server rejects the deletion of the Tenant. The spec or the plan can set "
        "this.",
    )
    hostnames: tuple[str, ...] = Field(default=(), description="The hosts that are reserved for this tenant.")
    subjects: tuple[BoundSubject, ...] = Field(
        default=(),
        description="The subjects in the applied spec. If a subject is removed from the spec, the watcher "
        "removes the subject from all RoleBindings in the tenant's namespaces.",
    )
    applied_digest: str | None = Field(
        default=None,
        description="The digest (hash) of the desired state that was applied last.",
    )
    spec_changes: tuple[SpecChange, ...] = Field(
        default=(),
        description="The changes to the spec since the last successful update of the stack, oldest first. "
        "The next update stores them in the stack's history. Only the newest 30 changes are kept.",
    )


def condition(tenant: Manifest, condition_type: ConditionType) -> Manifest:
    """The Tenant's condition of this type. Empty if the status has no such condition."""
    conditions: list[Manifest] = (tenant.get("status") or {}).get("conditions") or []
    return next((entry for entry in conditions if entry["type"] == condition_type), {})


def is_spec_applied(tenant: Manifest) -> bool:
    """Whether the watcher has applied the current generation of the spec."""
    applied = condition(tenant, ConditionType.SPEC_APPLIED)
    is_current = applied.get("observedGeneration") == tenant["metadata"]["generation"]
    return bool(is_current and applied["status"] == "True")
