"""Settings that a plan defines and a tenant can override, field by field.

The models of plans and of the Tenant spec inherit from `Settings`. If the tenant does not set a field, the
plan's value is used. If the plan does not set it either, the default in `TenantSettings` is used.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from tenancy.base.fields import (
    AS_LIST,
    ClassNames,
    DnsLabel,
    HostPatterns,
    Registries,
    SelectorLabels,
)
from tenancy.base.model import Model
from tenancy.base.quantity import Quantity
from tenancy.spec.extra_role_rules import RoleRules
from tenancy.spec.extra_template import ExtraResources
from tenancy.spec.integration_settings import Gatekeeper, Hnc, Istio
from tenancy.spec.network_settings import Network

Quantities = Annotated[dict[str, Quantity], Field(max_length=64)]


class PodSecurity(StrEnum):
    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


class QuotaScope(StrEnum):
    NAMESPACE = "Namespace"
    TENANT = "Tenant"


class PullPolicy(StrEnum):
    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class ServiceType(StrEnum):
    """The service types that can be allowed. `NodePort` is never allowed for a tenant."""

    CLUSTER_IP = "ClusterIP"
    LOAD_BALANCER = "LoadBalancer"
    EXTERNAL_NAME = "ExternalName"


class QuotaSpec(Model):
    """A ResourceQuota that is created in each namespace of the tenant."""

    name: DnsLabel = Field(description="The name of the ResourceQuota.")
    hard: Annotated[Quantities, Field(min_length=1)] = Field(
        description="The hard limits, by resource, as in a Kubernetes ResourceQuota."
    )


class ContainerLimits(Model):
    """The values of the LimitRange `tenant-limits` for containers, by resource."""

    default_request: Quantities = Field(
        default_factory=dict, description="Requests of containers that set no request for a resource."
    )
    default: Quantities = Field(
        default_factory=dict, description="Limits of containers that set no limit for a resource."
    )
    max: Quantities = Field(default_factory=dict, description="The maximum limits of a container.")


class Settings(Model):
    """Settings of a plan, which a tenant can override."""

    max_namespaces: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="The maximum number of namespaces of the tenant."
    )
    quotas: tuple[QuotaSpec, ...] | None = Field(
        default=None,
        max_length=16,
        description="ResourceQuotas in each namespace. A tenant's quota replaces the plan's quota of the "
        "same name. The tenant's other quotas are added.",
    )
    quota_scope: QuotaScope | None = Field(
        default=None,
        description="`Namespace`: the quotas apply to each namespace. `Tenant`: the quotas are a budget "
        "for all namespaces together, split by weight.",
    )
    limits: ContainerLimits | None = Field(
        default=None,
        description="Defaults and maxima per container, in the LimitRange `tenant-limits`. A tenant's "
        "`limits` replace all of the plan's.",
    )
    pod_security: PodSecurity | None = Field(
        default=None, description="The Pod Security level of the tenant's namespaces."
    )
    network: Network | None = Field(
        default=None, description="Additional connections that the tenant's NetworkPolicies allow."
    )
    registries: Registries | None = Field(
        default=None, description="Image registries that pods can use. Default: all."
    )
    image_pull_policies: Annotated[tuple[PullPolicy, ...], AS_LIST] | None = Field(
        default=None, description="Image pull policies that containers can use. Default: all."
    )
    service_types: Annotated[tuple[ServiceType, ...], AS_LIST] | None = Field(
        default=None,
        description="Service types that the tenant can use. Default: all except `NodePort`, which is never "
        "allowed.",
    )
    storage_classes: ClassNames | None = Field(
        default=None,
        description="Storage classes that PersistentVolumeClaims can use. Default: all.",
    )
    ingress_classes: ClassNames | None = Field(
        default=None,
        description="Ingress classes that Ingresses can use. Default: all.",
    )
    gateway_classes: ClassNames | None = Field(
        default=None, description="Gateway classes that Gateways can use. Default: all."
    )
    priority_classes: ClassNames | None = Field(
        default=None,
        description="Priority classes that pods can use. Default: all except `system-cluster-critical` and "
        "`system-node-critical`, which are never allowed.",
    )
    runtime_classes: ClassNames | None = Field(
        default=None,
        description='Runtime classes that pods can use. `""` allows pods without a runtime class. '
        "Default: all.",
    )
    hostnames: HostPatterns | None = Field(
        default=None,
        description="Hosts that the tenant's Ingresses and gateways can use. `*.DOMAIN` allows every "
        "subdomain. A host belongs to at most one tenant. Default: no hosts.",
    )
    node_selector: SelectorLabels | None = Field(
        default=None, description="Node labels that the tenant's pods must have in `spec.nodeSelector`."
    )
    max_sessions: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None,
        description="The maximum number of AISessions of the tenant that run at the same time. Other "
        "sessions wait, and the oldest one starts first.",
    )
    roles: RoleRules | None = Field(
        default=None, description="RBAC rules that are added to the tenant's Roles."
    )
    istio: Istio | None = Field(default=None, description="The tenant's membership in an Istio service mesh.")
    gatekeeper: Gatekeeper | None = Field(
        default=None, description="OPA Gatekeeper constraints for the tenant."
    )
    hnc: Hnc | None = Field(
        default=None,
        description="A tree of the tenant's namespaces for the Hierarchical Namespace Controller (HNC).",
    )
    protected: bool | None = Field(
        default=None, description="Makes the API server reject the deletion of the Tenant."
    )
    extra_resources: ExtraResources | None = Field(
        default=None,
        description="Manifests of objects that are created in each namespace. The placeholders "
        "`${tenant.name}`, `${tenant.namespace}`, `${tenant.purpose}`, `${tenant.plan}` and "
        "`${tenant.labels[KEY]}` are replaced. A tenant's objects are added to the plan's.",
    )


class TenantSettings(Settings):
    """The effective settings of one tenant. The defaults are for fields that plan and tenant do not set."""

    max_namespaces: int = 1
    quotas: tuple[QuotaSpec, ...] = ()
    quota_scope: QuotaScope = QuotaScope.NAMESPACE
    limits: ContainerLimits = ContainerLimits()
    pod_security: PodSecurity = PodSecurity.RESTRICTED
    network: Network = Network()
    hostnames: HostPatterns = ()
    max_sessions: int = 3
    roles: RoleRules = RoleRules()
    istio: Istio = Istio()
    gatekeeper: Gatekeeper = Gatekeeper()
    hnc: Hnc = Hnc()
    protected: bool = False
    extra_resources: ExtraResources = ()
