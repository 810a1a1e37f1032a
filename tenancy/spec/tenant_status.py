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
    """A condition of the tenant, in the format of Kubernetes conditions."""

    type: str = Field(
        description="The type of the condition: `Ready`, `TenantReady`, `NamespaceReady`, `SpecApplied`, "
        "`Drifted`, `IntegrationsReady` or `Isolated`.",
    )
    status: str = Field(
        description="Whether the condition is true.", json_schema_extra={"enum": ["True", "False", "Unknown"]}
    )
    reason: str = Field(description="The reason for the status, as a CamelCase word.")
    message: str = Field(default="", description="Details about the reason.")
    last_transition_time: str = Field(
        description="The time when `status` last changed.",
        json_schema_extra={"format": "date-time"},
    )
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec for which the watcher set the condition."
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

    used: str = Field(description="The sum of the used amounts in the tenant's namespaces.")
    hard: str = Field(description="The sum of the limits of the tenant's namespaces.")


class TenantUsage(Model):
    """The resource usage of the tenant. Each value is the sum for all namespaces of the tenant."""

    pods: int | None = Field(
        default=None,
        description="The number of pods. The field is set only if a quota limits the number of pods.",
    )
    quotas: dict[str, QuotaUsage] = Field(
        default_factory=dict,
        description="The used amount and the limit of each resource. The keys are `cpu`, `memory`, `storage` "
        "and `pods`.",
    )
    cpu: str | None = Field(
        default=None,
        description="The measured CPU usage of the pods. The field is set only if the cluster serves "
        "metrics.k8s.io. The watcher does not write small changes to the status.",
    )
    memory: str | None = Field(
        default=None,
        description="The measured memory usage of the pods. The field is set only if the cluster serves "
        "metrics.k8s.io. The watcher does not write small changes to the status.",
    )


class LastUpdate(Model):
    """The newest update of the tenant's stack."""

    version: int | None = Field(default=None, description="The number of the update in the stack's history.")
    result: str = Field(description="The result of the update: `succeeded` or `failed`.")
    message: str = Field(default="", description="The cause of the update.")
    time: str | None = Field(
        default=None,
        description="The time when the update ended. The field is set only if the update succeeded.",
        json_schema_extra={"format": "date-time"},
    )
    duration_seconds: float | None = Field(default=None, description="The duration of the update in seconds.")
    resource_changes: dict[str, int] = Field(
        default_factory=dict,
        description="The number of resources, by the operation of Pulumi, such as `create`, `update` or "
        "`same`.",
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

    generation: int = Field(description="The generation of the Tenant after the change.")
    time: str = Field(description="The time of the change.", json_schema_extra={"format": "date-time"})
    user: str = Field(
        default="",
        description="The user who wrote the spec. Empty if the user is not verified.",
    )
    manager: str = Field(default="", description="The field manager that wrote the spec.")
    message: str = Field(default="", description="The message that describes the change.")
    commit: str = Field(
        default="",
        description="The commit that contains the change, from an annotation of the Tenant.",
    )
    commit_author: str = Field(
        default="", description="The author of the commit, from an annotation of the Tenant."
    )
    claims_hash: str = Field(
        default="",
        description="A hash of the annotations that describe the change. Empty if there are none.",
    )
    result: SpecResult = Field(default=SpecResult.PENDING, description="The result of the change.")
    reason: str = Field(
        default="", description="The reason why the change is not applied, as a CamelCase word."
    )
    detail: str = Field(default="", description="Details about the reason.")
    spec: AnyObject | None = Field(
        default=None, description="The spec, if it was rejected and is not very long."
    )


class BoundSubject(Model):
    """A user, a group or a service account to which the spec gives access."""

    kind: str = Field(description="The kind of the subject: `User`, `Group` or `ServiceAccount`.")
    name: str = Field(description="The name of the subject.")
    namespace: str | None = Field(
        default=None,
        description="The namespace of a service account. If the field is omitted, the entry applies to the "
        "service account with this name in each of the tenant's namespaces.",
    )


class TenantStatus(Model):
    """The observed state of a tenant. The watcher writes this status."""

    phase: Phase = Field(default=Phase.PENDING, description="The tenant's state, as one word.")
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec for which the watcher wrote this status."
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
        description="The missing CRDs of each enabled integration. The keys are the names of the "
        "integrations.",
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
        description="Whether the API server rejects the deletion of the Tenant. The value comes from the "
        "spec or the plan.",
    )
    hostnames: tuple[str, ...] = Field(default=(), description="The hosts that are reserved for this tenant.")
    subjects: tuple[BoundSubject, ...] = Field(
        default=(),
        description="The users, groups and service accounts in the applied spec. If you remove one of them "
        "from the spec, the watcher also removes it from all RoleBindings in the tenant's namespaces.",
    )
    applied_digest: str | None = Field(
        default=None,
        description="The digest (hash) of the desired state that was applied last.",
    )
    spec_changes: tuple[SpecChange, ...] = Field(
        default=(),
        description="The changes to the spec since the last successful update of the stack, oldest first. "
        "The next update stores these changes in the stack's history. The list contains at most the newest "
        "30 changes.",
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
