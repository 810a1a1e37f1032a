"""Settings of the integrations with Istio, Gatekeeper and HNC, part of `Settings`."""

from pydantic import Field

from tenancy.base.fields import DnsLabel, SelectorLabels
from tenancy.base.model import Model


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
    """A tree of the tenant's namespaces for the Hierarchical Namespace Controller (HNC). Needs HNC's CRDs."""

    enabled: bool | None = Field(
        default=None, description="Arranges the tenant's namespaces as a parent and its children."
    )
    parent: DnsLabel | None = Field(
        default=None,
        description="The parent namespace, by its `name` in `spec.namespaces`. Default: the first namespace.",
    )
