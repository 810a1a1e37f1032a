"""What a plan sets and a tenant may override, field by field.

Both models inherit `Settings`. A field that is left out is the plan's in a tenant, and the product's
default in a plan. `settings_of` lays one over the other.
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
    Labels,
    Registries,
)
from tenancy.base.model import Model
from tenancy.base.quantity import Quantity
from tenancy.spec.extra_template import ExtraResources
from tenancy.spec.role_rules import RoleRules

Amounts = Annotated[dict[str, Quantity], Field(max_length=64)]
Port = Annotated[int, Field(ge=1, le=65535)]


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
    """NodePort is not among them: no tenant gets one."""

    CLUSTER_IP = "ClusterIP"
    LOAD_BALANCER = "LoadBalancer"
    EXTERNAL_NAME = "ExternalName"


class QuotaSpec(Model):
    """One ResourceQuota, made in each namespace."""

    name: DnsLabel = Field(description="The object's name.")
    hard: Annotated[Amounts, Field(min_length=1)] = Field(description="Its limits, by resource.")


class ContainerLimits(Model):
    """The LimitRange's figures per container."""

    default_request: Amounts = Field(
        default_factory=dict, description="What a container asks for by default."
    )
    default: Amounts = Field(default_factory=dict, description="What limits a container by default.")
    max: Amounts = Field(default_factory=dict, description="The most a container may ask for.")


class PortRange(Model):
    """One port, or all from `port` to `endPort`."""

    port: Port = Field(description="The port, or the first of them.")
    end_port: Port | None = Field(default=None, description="The last port; left out: only `port`.")
    protocol: Protocol = Field(default=Protocol.TCP, description="What is spoken there.")

    @model_validator(mode="after")
    def _range_goes_up(self) -> "PortRange":
        if self.end_port is not None and self.end_port < self.port:
            raise ValueError(f"endPort {self.end_port} is below port {self.port}")
        return self


class Addresses(Model):
    """Addresses outside the cluster, and the ports on which they may be met."""

    cidr: Cidr = Field(description="A network, such as 203.0.113.0/24.")
    except_: tuple[Cidr, ...] = Field(
        default=(), alias="except", max_length=64, description="Networks inside `cidr` that are not meant."
    )
    ports: tuple[PortRange, ...] = Field(default=(), max_length=64, description="None given: all ports.")

    @model_validator(mode="after")
    def _exceptions_lie_inside(self) -> "Addresses":
        whole = ip_network(self.cidr)
        for text in self.except_:
            part = ip_network(text)
            is_inside = part.version == whole.version and part.subnet_of(whole) and part != whole  # type: ignore[arg-type]
            if not is_inside:
                raise ValueError(f"except {text!r} does not lie inside {self.cidr}")
        return self


class Network(Model):
    """Who else may reach the tenant's pods, and whom they may reach. Isolation itself is no choice."""

    ingress_controller: Labels | None = Field(
        default=None, description="Labels of the ingress controller's namespace; let in."
    )
    monitoring: Labels | None = Field(
        default=None, description="Labels of the monitoring's namespace; let in."
    )
    egress: tuple[Addresses, ...] | None = Field(
        default=None, max_length=64, description="Addresses the tenant's pods may reach."
    )
    ingress: tuple[Addresses, ...] | None = Field(
        default=None, max_length=64, description="Addresses that may reach the tenant's pods."
    )


class Istio(Model):
    """Istio's objects for the tenant, made of its `hostnames`."""

    enabled: bool | None = Field(default=None, description="Whether the tenant is in the mesh.")
    gateway_selector: Labels | None = Field(
        default=None, description="Labels of the gateway's pods; `istio: ingressgateway` by default."
    )
    gateway_namespace: DnsLabel | None = Field(
        default=None, description="Where the gateway runs; `istio-system` by default."
    )
    tls_secret: DnsLabel | None = Field(
        default=None, description="The gateway's certificate for the hosts; none: plain HTTP."
    )


class Gatekeeper(Model):
    """Gatekeeper's constraints for the tenant."""

    enabled: bool | None = Field(default=None, description="Whether the tenant gets constraints.")


class Hnc(Model):
    """The tenant's namespaces as a tree of the Hierarchical Namespace Controller."""

    enabled: bool | None = Field(default=None, description="Whether the namespaces form a tree.")
    parent: DnsLabel | None = Field(
        default=None, description="A name from `namespaces`: the tree's root; the first one by default."
    )


class Settings(Model):
    """What a plan can set, and a tenant override."""

    max_namespaces: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="How many namespaces the tenant may have."
    )
    quotas: tuple[QuotaSpec, ...] | None = Field(
        default=None,
        max_length=16,
        description="ResourceQuotas. A tenant's replace the plan's of the same name, and add to the others.",
    )
    quota_scope: QuotaScope | None = Field(
        default=None,
        description="`Namespace`: each namespace gets the figures. `Tenant`: they are a budget for all "
        "of them together, split by weight.",
    )
    limits: ContainerLimits | None = Field(default=None, description="The LimitRange's figures.")
    pod_security: PodSecurity | None = Field(
        default=None, description="The Pod Security level; `restricted` by default."
    )
    network: Network | None = Field(default=None, description="Holes in the tenant's walls.")
    registries: Registries | None = Field(
        default=None, description="Image registries pods may use; left out: any."
    )
    image_pull_policies: Annotated[tuple[PullPolicy, ...], AS_LIST] | None = Field(
        default=None, description="Image pull policies pods may use; left out: any."
    )
    service_types: Annotated[tuple[ServiceType, ...], AS_LIST] | None = Field(
        default=None, description="Service types; left out: any but NodePort, which nobody gets."
    )
    storage_classes: ClassNames | None = Field(
        default=None, description="Storage classes claims may use; left out: any."
    )
    ingress_classes: ClassNames | None = Field(default=None, description="Ingress classes; left out: any.")
    gateway_classes: ClassNames | None = Field(default=None, description="Gateway classes; left out: any.")
    priority_classes: ClassNames | None = Field(
        default=None,
        description="Priority classes pods may name; left out: any but the system's own.",
    )
    runtime_classes: ClassNames | None = Field(
        default=None,
        description='Runtime classes pods may use; `""` stands for none named. Left out: any.',
    )
    hostnames: HostPatterns | None = Field(
        default=None,
        description="Hosts of the tenant's Ingresses and gateways; `*.` before a domain allows each name "
        "below it. None given: no hosts. No two tenants can have the same.",
    )
    node_selector: Labels | None = Field(
        default=None, description="Labels of the nodes that the tenant's pods must run on."
    )
    max_sessions: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None,
        description="How many AISessions of the tenant may run at once; the others wait, oldest first.",
    )
    roles: RoleRules | None = Field(default=None, description="More rules for the tenant's roles.")
    istio: Istio | None = Field(default=None, description="The service mesh.")
    gatekeeper: Gatekeeper | None = Field(default=None, description="Gatekeeper.")
    hnc: Hnc | None = Field(default=None, description="Hierarchical namespaces.")
    protected: bool | None = Field(default=None, description="Whether deletion is refused.")
    extra_resources: ExtraResources | None = Field(
        default=None,
        description="More objects for each namespace: namespaced manifests in which `${tenant.name}`, "
        "`${tenant.namespace}`, `${tenant.purpose}`, `${tenant.plan}` and `${tenant.labels[KEY]}` are "
        "filled in. A tenant's add to the plan's.",
    )


class TenantSettings(Settings):
    """What holds for one tenant: nothing is left open that has a default."""

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


_NESTED: Final = ("network", "roles", "istio", "gatekeeper", "hnc")


def settings_of(plan: Settings, tenant: Settings) -> TenantSettings:
    """The plan's settings with the tenant's own over them."""
    base, own = (_given(settings) for settings in (plan, tenant))
    merged = {**base, **own}
    for name in _NESTED:
        if name in base and name in own:
            merged[name] = base[name].model_copy(update=_given(own[name]))
    quotas = {quota.name: quota for quota in (*base.get("quotas", ()), *own.get("quotas", ()))}
    merged["quotas"] = tuple(quotas.values())
    merged["extra_resources"] = (*base.get("extra_resources", ()), *own.get("extra_resources", ()))
    return TenantSettings.model_construct(**merged)


def _given(model: Model) -> dict[str, Any]:
    fields = Settings.model_fields if isinstance(model, Settings) else type(model).model_fields
    return {name: value for name in fields if (value := getattr(model, name)) is not None}
