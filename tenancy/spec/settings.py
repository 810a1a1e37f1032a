"""Settings that a plan defines and a tenant can override, field by field.

The models of plans and of the Tenant spec both inherit `Settings`. A field that the tenant leaves out has the
plan's value, and a field that both leave out has the default in `TenantSettings`. `effective_settings` merges
the two.
"""

from enum import StrEnum
from ipaddress import ip_network
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from tenancy.base.fields import (
    AS_LIST,
    Cidr,
    ClassNames,
    DnsLabel,
    HostPatterns,
    Registries,
    SelectorLabels,
)
from tenancy.base.model import Model
from tenancy.base.quantity import Quantity
from tenancy.spec.extra_template import ExtraResources
from tenancy.spec.role_rules import RoleRules

Quantities = Annotated[dict[str, Quantity], Field(max_length=64)]
PortNumber = Annotated[int, Field(ge=1, le=65535)]


class PodSecurity(StrEnum):
    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


class QuotaScope(StrEnum):
    NAMESPACE = "Namespace"
    TENANT = "Tenant"


class Protocol(StrEnum):
    TCP = "TCP"
    UDP = "UDP"
    SCTP = "SCTP"


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
        default_factory=dict, description="Requests of a container that sets none."
    )
    default: Quantities = Field(default_factory=dict, description="Limits of a container that sets none.")
    max: Quantities = Field(default_factory=dict, description="The maximum limits of a container.")


class PortRange(Model):
    """A port, or the range of ports from `port` to `endPort`."""

    port: PortNumber = Field(description="The port, or the first port of the range.")
    end_port: PortNumber | None = Field(
        default=None, description="The last port of the range. Default: only `port`."
    )
    protocol: Protocol = Field(default=Protocol.TCP, description="The protocol of the ports.")

    @model_validator(mode="after")
    def _range_is_ascending(self) -> "PortRange":
        if self.end_port is not None and self.end_port < self.port:
            raise ValueError(f"endPort {self.end_port} is below port {self.port}")
        return self


class Addresses(Model):
    """A range of addresses outside the cluster, and the allowed ports."""

    cidr: Cidr = Field(description="The address range as a CIDR, such as 203.0.113.0/24.")
    except_: tuple[Cidr, ...] = Field(
        default=(),
        alias="except",
        max_length=64,
        description="CIDRs inside `cidr` that are excluded from the range.",
    )
    ports: tuple[PortRange, ...] = Field(
        default=(), max_length=64, description="The allowed ports. Default: all ports."
    )

    @model_validator(mode="after")
    def _exceptions_are_inside(self) -> "Addresses":
        whole_range = ip_network(self.cidr)
        for text in self.except_:
            part = ip_network(text)
            is_inside = (
                part.version == whole_range.version
                and part.subnet_of(whole_range)  # type: ignore[arg-type]
                and part != whole_range
            )
            if not is_inside:
                raise ValueError(f"except {text!r} must be a smaller CIDR inside {self.cidr}")
        return self


class Network(Model):
    """Connections allowed besides the default ones. The isolation from other tenants can't be disabled."""

    ingress_controller: SelectorLabels | None = Field(
        default=None,
        description="Labels of the ingress controller's namespace. Its pods can connect to the tenant's "
        "pods.",
    )
    monitoring: SelectorLabels | None = Field(
        default=None,
        description="Labels of the monitoring namespace. Its pods can connect to the tenant's pods.",
    )
    egress: tuple[Addresses, ...] | None = Field(
        default=None,
        max_length=64,
        description="Addresses outside the cluster that the tenant's pods can connect to.",
    )
    ingress: tuple[Addresses, ...] | None = Field(
        default=None,
        max_length=64,
        description="Addresses outside the cluster that can connect to the tenant's pods.",
    )


class Istio(Model):
    """Istio objects for the tenant. They need Istio's CRDs."""

    enabled: bool | None = Field(
        default=None,
        description="Enables sidecar injection and creates the tenant's Istio objects. The Gateway is "
        "created only if the tenant has `hostnames`.",
    )
    gateway_selector: SelectorLabels | None = Field(
        default=None, description="Labels of the gateway's pods. Default: `istio: ingressgateway`."
    )
    gateway_namespace: DnsLabel | None = Field(
        default=None, description="The namespace of the gateway's pods. Default: `istio-system`."
    )
    tls_secret: DnsLabel | None = Field(
        default=None,
        description="The Secret with the certificate for `hostnames`, in the namespace of the gateway's "
        "pods. Default: HTTP only.",
    )


class Gatekeeper(Model):
    """Gatekeeper constraints for the tenant. They need Gatekeeper's CRDs."""

    enabled: bool | None = Field(
        default=None,
        description="Creates constraints that enforce `registries` and `podSecurity` in the tenant's "
        "namespaces.",
    )


class Hnc(Model):
    """A tree of the tenant's namespaces, for the Hierarchical Namespace Controller. It needs HNC's CRDs."""

    enabled: bool | None = Field(
        default=None, description="Arranges the tenant's namespaces as a parent and its children."
    )
    parent: DnsLabel | None = Field(
        default=None,
        description="The `name` of the parent in `spec.namespaces`. Default: the first namespace.",
    )


class Settings(Model):
    """Settings of a plan, which a tenant can override."""

    max_namespaces: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="The maximum number of namespaces of the tenant."
    )
    quotas: tuple[QuotaSpec, ...] | None = Field(
        default=None,
        max_length=16,
        description="ResourceQuotas in each namespace. A tenant's quota replaces the plan's quota of the "
        "same name; its other quotas are added.",
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
        description='Runtime classes that pods can use; `""` allows pods that name none. Default: all.',
    )
    hostnames: HostPatterns | None = Field(
        default=None,
        description="Hosts that the tenant's Ingresses and gateways can use; `*.DOMAIN` allows every "
        "subdomain. A host belongs to at most one tenant. Default: no hosts.",
    )
    node_selector: SelectorLabels | None = Field(
        default=None, description="Node labels that the tenant's pods must have in `spec.nodeSelector`."
    )
    max_sessions: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None,
        description="The maximum number of AISessions of the tenant that run at the same time. The others "
        "wait and start oldest first.",
    )
    roles: RoleRules | None = Field(
        default=None, description="RBAC rules that are added to the tenant's Roles."
    )
    istio: Istio | None = Field(default=None, description="The tenant's membership in an Istio service mesh.")
    gatekeeper: Gatekeeper | None = Field(
        default=None, description="The tenant's constraints of OPA Gatekeeper."
    )
    hnc: Hnc | None = Field(
        default=None,
        description="The tenant's namespaces as a tree of the Hierarchical Namespace Controller.",
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
    """The effective settings of one tenant, with defaults for the fields that plan and tenant leave out."""

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


_NESTED_MODELS: Final = ("network", "roles", "istio", "gatekeeper", "hnc")


def effective_settings(plan: Settings, tenant_spec: Settings) -> TenantSettings:
    """The settings of one tenant: the plan's, with the tenant's own settings over them.

    Nested models are merged field by field, quotas by name. Extra resources are added to the plan's.
    """
    plan_fields, tenant_fields = _set_fields(plan), _set_fields(tenant_spec)
    merged = {**plan_fields, **tenant_fields}
    for name in _NESTED_MODELS:
        if name in plan_fields and name in tenant_fields:
            merged[name] = plan_fields[name].model_copy(update=_set_fields(tenant_fields[name]))
    quotas = (*plan_fields.get("quotas", ()), *tenant_fields.get("quotas", ()))
    merged["quotas"] = tuple({quota.name: quota for quota in quotas}.values())
    merged["extra_resources"] = (
        *plan_fields.get("extra_resources", ()),
        *tenant_fields.get("extra_resources", ()),
    )
    return TenantSettings.model_construct(**merged)


def _set_fields(model: Model) -> dict[str, Any]:
    """The fields that are not None; of a plan or a spec, only those of `Settings`."""
    fields = Settings.model_fields if isinstance(model, Settings) else type(model).model_fields
    return {name: value for name in fields if (value := getattr(model, name)) is not None}
