"""Settings that a plan defines. A tenant can override each field.

The models of plans and of the Tenant spec inherit from `Settings`. If the tenant does not set a field, the
plan's value is used. If the plan does not set the field either, the default in `TenantSettings` is used.
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from tenancy.base.fields import (
    AS_LIST,
    ClassNames,
    DnsLabel,
    HostPatterns,
    LabelKeys,
    NonEmptyQuantities,
    Quantities,
    Registries,
    SelectorLabels,
    Taints,
)
from tenancy.base.labels import NODE_POOL_LABEL
from tenancy.base.model import Model
from tenancy.spec.extra_role_rules import RoleRules
from tenancy.spec.extra_template import ExtraResources
from tenancy.spec.integration_settings import Gatekeeper, Hnc, Istio
from tenancy.spec.network_settings import Network

# The longest grace period of a pod, in seconds, if neither the plan nor the tenant sets one.
MAX_GRACE_PERIOD_S: Final = 3600


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
    """A ResourceQuota that the platform creates in each namespace of the tenant."""

    name: DnsLabel = Field(description="The name of the ResourceQuota.")
    hard: NonEmptyQuantities = Field(
        description="The limit of each resource, in the format of `spec.hard` of a ResourceQuota.",
    )


class ContainerLimits(Model):
    """The LimitRange `tenant-limits`: the default and maximum values for containers, by resource."""

    default_request: Quantities = Field(
        default_factory=dict,
        description="The default requests. A container gets these requests if it does not set its own.",
    )
    default: Quantities = Field(
        default_factory=dict,
        description="The default limits. A container gets these limits if it does not set its own.",
    )
    max: Quantities = Field(
        default_factory=dict,
        description="The highest limits that a container can set.",
    )


class Settings(Model):
    """Settings of a plan, which a tenant can override."""

    max_namespaces: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None,
        description="The maximum number of namespaces that the tenant can have.",
    )
    quotas: tuple[QuotaSpec, ...] | None = Field(
        default=None,
        max_length=16,
        description="ResourceQuotas that each namespace gets. The quotas of a Tenant are added to the "
        "quotas of its plan. If both have a quota with the same name, the quota of the Tenant replaces the "
        "quota of the plan.",
    )
    quota_scope: QuotaScope | None = Field(
        default=None,
        description="`Namespace`: each namespace gets the full quotas. `Tenant`: the quotas are one budget "
        "for all namespaces, and each namespace gets a share in proportion to its `weight`.",
    )
    limits: ContainerLimits | None = Field(
        default=None,
        description="The default and maximum requests and limits of containers. Each namespace gets the "
        "LimitRange `tenant-limits` with these values. If a Tenant sets `limits`, all `limits` of its plan "
        "are ignored.",
    )
    pod_security: PodSecurity | None = Field(
        default=None, description="The Pod Security level of the tenant's namespaces."
    )
    network: Network | None = Field(
        default=None,
        description="Connections that the tenant's NetworkPolicies allow in addition to the "
        "connections inside the tenant.",
    )
    registries: Registries | None = Field(
        default=None,
        description="Image registries that pods can use. Default: all registries.",
    )
    image_pull_policies: Annotated[tuple[PullPolicy, ...], AS_LIST] | None = Field(
        default=None,
        description="Image pull policies that containers can use. Default: all policies.",
    )
    service_types: Annotated[tuple[ServiceType, ...], AS_LIST] | None = Field(
        default=None,
        description="Types that the tenant's Services can have. `NodePort` is never allowed. Default: all "
        "other types.",
    )
    storage_classes: ClassNames | None = Field(
        default=None,
        description="Storage classes that PersistentVolumeClaims can use. Default: all classes.",
    )
    ingress_classes: ClassNames | None = Field(
        default=None,
        description="Ingress classes that Ingresses can use. Default: all classes.",
    )
    gateway_classes: ClassNames | None = Field(
        default=None,
        description="Gateway classes that Gateways can use. Default: all classes.",
    )
    priority_classes: ClassNames | None = Field(
        default=None,
        description="Priority classes that pods can use. `system-cluster-critical` and "
        "`system-node-critical` are never allowed. Default: all other classes.",
    )
    runtime_classes: ClassNames | None = Field(
        default=None,
        description='Runtime classes that pods can use. `""` allows pods without a runtime class. Default: '
        "all classes.",
    )
    hostnames: HostPatterns | None = Field(
        default=None,
        description="Hosts that the tenant's Ingresses, Gateways and routes can use. `*.DOMAIN` allows every "
        "subdomain of `DOMAIN`. A host belongs to at most one tenant. Default: no hosts.",
    )
    node_selector: SelectorLabels | None = Field(
        default=None,
        description="Labels that every pod of the tenant must have in its `spec.nodeSelector`.",
    )
    tolerations: Taints | None = Field(
        default=None,
        description="Taints that pods can tolerate. The format of a taint is `KEY`, `KEY:EFFECT`, "
        "`KEY=VALUE` or `KEY=VALUE:EFFECT`. Pods can always have the tolerations that Kubernetes adds. "
        "Default: no other tolerations.",
    )
    dedicated_nodes: DnsLabel | None = Field(
        default=None,
        description="The name of a pool of nodes. Only tenants with this value of `dedicatedNodes` can use "
        f"the pool. The nodes of the pool have the label and the taint `{NODE_POOL_LABEL}` with this value. "
        "Every pod of the tenant must select the label, and can tolerate the taint. Pods of other tenants "
        "cannot select the label or tolerate the taint.",
    )
    max_grace_period_seconds: Annotated[int, Field(ge=0, le=86400)] | None = Field(
        default=None,
        description="The longest grace period that a pod can have, in seconds. This setting also limits the "
        f"grace period in requests that delete or evict a pod. Default: {MAX_GRACE_PERIOD_S}.",
    )
    load_balancer_classes: LabelKeys | None = Field(
        default=None,
        description="Values that `spec.loadBalancerClass` of the tenant's Services can have. By default, "
        "Services cannot set this field.",
    )
    allowed_annotations: LabelKeys | None = Field(
        default=None,
        description="Keys of annotations that configure load balancers, ingress controllers or ExternalDNS. "
        "The tenant's Services, Ingresses, Gateways and routes can have these annotations. Some harmless "
        "annotations of ingress-nginx are always allowed. Default: no other annotations.",
    )
    max_sessions: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None,
        description="The maximum number of AISessions (AI jobs) of the tenant that run at the same time. "
        "All other AISessions wait. The oldest waiting AISession starts first.",
    )
    roles: RoleRules | None = Field(
        default=None, description="RBAC rules that are added to the tenant's Roles."
    )
    istio: Istio | None = Field(
        default=None,
        description="Istio objects for the tenant.",
    )
    gatekeeper: Gatekeeper | None = Field(
        default=None, description="OPA Gatekeeper constraints for the tenant."
    )
    hnc: Hnc | None = Field(
        default=None,
        description="A hierarchy of the tenant's namespaces for the Hierarchical Namespace Controller (HNC).",
    )
    protected: bool | None = Field(
        default=None,
        description="If true, the API server rejects the deletion of the Tenant.",
    )
    extra_resources: ExtraResources | None = Field(
        default=None,
        description="Manifests of extra objects that each namespace gets. The manifests can contain the "
        "placeholders `${tenant.name}`, `${tenant.namespace}`, `${tenant.purpose}`, `${tenant.plan}` and "
        "`${tenant.labels[KEY]}`. The extra objects of a Tenant are added to the extra objects of its plan.",
    )


class TenantSettings(Settings):
    """The effective settings of one tenant.

    The defaults apply to fields that neither the plan nor the tenant sets.
    """

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

    def forced_node_selector(self) -> dict[str, str]:
        """The labels that every pod of the tenant must have in its node selector."""
        pool = {NODE_POOL_LABEL: self.dedicated_nodes} if self.dedicated_nodes else {}
        return {**(self.node_selector or {}), **pool}
