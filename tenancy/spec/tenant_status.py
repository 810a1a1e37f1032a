"""The models of a Tenant's status."""

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
    """A condition of the tenant, as Kubernetes defines conditions."""

    type: str = Field(
        description="`Ready`, `TenantReady`, `NamespaceReady`, `Drifted` or `IntegrationsReady`."
    )
    status: str = Field(
        description="Whether the condition is true.", json_schema_extra={"enum": ["True", "False", "Unknown"]}
    )
    reason: str = Field(description="The reason for the status, as a single CamelCase word.")
    message: str = Field(default="", description="The reason for the status, in readable text.")
    last_transition_time: str = Field(
        description="When `status` last changed.", json_schema_extra={"format": "date-time"}
    )
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec that the condition was set for."
    )


class ResourceUsage(Model):
    """The amounts of a namespace's quotas that are in use."""

    cpu: str | None = Field(default=None, description="The sum of the CPU requests of the pods.")
    memory: str | None = Field(default=None, description="The sum of the memory requests of the pods.")
    storage: str | None = Field(
        default=None, description="The sum of the storage requests of the PersistentVolumeClaims."
    )


class NamespaceStatus(Model):
    """The status of one namespace of the tenant."""

    ready: bool = Field(description="Whether the namespace and its managed objects have been applied.")
    resource_usage: ResourceUsage = Field(
        default=ResourceUsage(), description="The amounts of the namespace's quotas that are in use."
    )


class QuotaUsage(Model):
    """Used and allowed amounts of one resource."""

    used: str = Field(description="The used amount, summed over the tenant's namespaces.")
    hard: str = Field(description="The hard limit, summed over the tenant's namespaces.")


class TenantUsage(Model):
    """Resource usage of the tenant, summed over its namespaces."""

    pods: int | None = Field(default=None, description="The number of pods, if a quota limits it.")
    quotas: dict[str, QuotaUsage] = Field(
        default_factory=dict,
        description="Used and allowed amounts by resource: `cpu`, `memory`, `storage`, `pods`.",
    )
    cpu: str | None = Field(
        default=None,
        description="The measured CPU usage, updated when it changes by more than 10%. Set only if the "
        "cluster serves metrics.k8s.io.",
    )
    memory: str | None = Field(
        default=None,
        description="The measured memory usage, updated when it changes by more than 10%. Set only if the "
        "cluster serves metrics.k8s.io.",
    )


class LastUpdate(Model):
    """The newest update of the tenant's stack."""

    version: int | None = Field(default=None, description="The number of the update in the stack's history.")
    result: str = Field(description="The result of the update: `succeeded` or `failed`.")
    message: str = Field(default="", description="The cause of the update.")
    time: str | None = Field(
        default=None,
        description="When the update ended. Set only if it succeeded.",
        json_schema_extra={"format": "date-time"},
    )
    duration_seconds: float | None = Field(default=None, description="The duration of the update in seconds.")
    resource_changes: dict[str, int] = Field(
        default_factory=dict, description="The number of resources by operation, such as `create` or `same`."
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
        default_factory=dict, description="The status of each namespace, by full name."
    )
    missing_crds: dict[str, tuple[str, ...]] | None = Field(
        default=None, description="The CRDs that the cluster lacks, by integration."
    )
    usage: TenantUsage | None = Field(
        default=None, description="The tenant's quota usage, and its measured CPU and memory usage."
    )
    stack: str | None = Field(default=None, description="The name of the tenant's Pulumi stack.")
    last_update: LastUpdate | None = Field(default=None, description="The newest update of the stack.")
    protected: bool | None = Field(
        default=None,
        description="Whether the API server rejects the deletion of the Tenant, because of its spec or its "
        "plan.",
    )
    hostnames: tuple[str, ...] = Field(default=(), description="The hosts that are reserved for this tenant.")
    applied_digest: str | None = Field(
        default=None, description="The digest of the desired state that was applied last."
    )
