"""The settings of the integrations Istio, Gatekeeper and HNC. They are a part of `Settings`."""

from pydantic import Field

from tenancy.base.fields import DnsLabel, SelectorLabels
from tenancy.base.model import Model


class Istio(Model):
    """Istio objects for the tenant. The watcher creates these objects if the cluster has Istio's CRDs."""

    enabled: bool | None = Field(
        default=None,
        description="If true, the tenant's pods get sidecars, and the watcher creates the tenant's Istio "
        "objects. The watcher creates a Gateway only if the tenant has `hostnames`.",
    )
    gateway_selector: SelectorLabels | None = Field(
        default=None,
        description="Labels of the pods of the Istio ingress gateway. Default: `istio: ingressgateway`.",
    )
    gateway_namespace: DnsLabel | None = Field(
        default=None,
        description="The namespace of the pods of the Istio ingress gateway. Default: `istio-system`.",
    )
    tls_secret: DnsLabel | None = Field(
        default=None,
        description="The name of the Secret with the TLS certificate for `hostnames`. The Secret must be in "
        "the namespace of the gateway's pods. If this field is omitted, the Gateway serves only HTTP.",
    )


class Gatekeeper(Model):
    """Constraints for the tenant. The watcher creates these objects if the cluster has Gatekeeper's CRDs."""

    enabled: bool | None = Field(
        default=None,
        description="If true, the watcher creates constraints that enforce `registries` and `podSecurity` in "
        "the tenant's namespaces.",
    )


class Hnc(Model):
    """A hierarchy of the tenant's namespaces. The watcher creates the hierarchy if HNC is installed."""

    enabled: bool | None = Field(
        default=None,
        description="If true, one of the tenant's namespaces becomes the parent of the tenant's other "
        "namespaces.",
    )
    parent: DnsLabel | None = Field(
        default=None,
        description="The `name` of the parent namespace in `spec.namespaces`. Default: the first namespace.",
    )
