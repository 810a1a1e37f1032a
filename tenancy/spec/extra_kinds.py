"""The schemas of the objects that are allowed in `extraResources`, by kind.

The schemas reject fields that would weaken the tenant's isolation. They also set the same defaults as the API
server, so that the desired object has the same fields as the live object.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field, field_validator, model_validator

from tenancy.base.kinds import (
    CONFIG_MAP,
    DISRUPTION_BUDGET,
    LIMIT_RANGE,
    NETWORK_POLICY,
    RESOURCE_QUOTA,
    SERVICE,
    SERVICE_ACCOUNT,
    Kind,
)
from tenancy.base.labels import TENANT_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.model import Model
from tenancy.base.quantity import Quantity
from tenancy.base.validation import raise_problems

_RESERVED_LABEL_PREFIX: Final = TENANT_LABEL.partition("/")[0] + "/"
_RESERVED_ANNOTATION_PREFIX: Final = "pulumi.com/"

Item = TypeVar("Item")
TextMap = Annotated[dict[str, str], Field(default_factory=dict)]
ObjectOrEmpty = Annotated[Manifest, Field(default_factory=dict)]
ListOrEmpty = Annotated[list[Item], Field(default_factory=list)]


class PartialModel(Model, extra="allow"):
    """A part of an object in which only some fields are checked. Other fields are kept without a check."""


class Metadata(Model):
    name: Annotated[str, Field(min_length=1)]
    labels: TextMap
    annotations: TextMap

    @field_validator("labels")
    @classmethod
    def _labels_are_not_reserved(cls, labels: dict[str, str]) -> dict[str, str]:
        return _check_prefix(labels, _RESERVED_LABEL_PREFIX)

    @field_validator("annotations")
    @classmethod
    def _annotations_are_not_reserved(cls, annotations: dict[str, str]) -> dict[str, str]:
        return _check_prefix(annotations, _RESERVED_ANNOTATION_PREFIX)


class ExtraObject(Model):
    """The fields that all extra objects have."""

    api_version: str
    kind: str
    metadata: Metadata


class ConfigMap(ExtraObject):
    data: TextMap
    binary_data: TextMap
    immutable: bool | None = None


class ServiceAccount(ExtraObject):
    automount_service_account_token: bool | None = None
    image_pull_secrets: list[Manifest] | None = None


class PortSchema(PartialModel):
    """A port of a Service or of a NetworkPolicy."""

    protocol: str = "TCP"


class ServicePort(PortSchema):
    node_port: None = None


class ServiceSpec(PartialModel):
    # Node ports and external IPs are rejected, because they bypass the tenant's isolation.
    type: Literal["ClusterIP", "LoadBalancer", "ExternalName"] = "ClusterIP"
    external_ips: Annotated[list[str], Field(max_length=0)] = Field(default=[], alias="externalIPs")
    selector: TextMap
    ports: ListOrEmpty[ServicePort]


class ServiceManifest(ExtraObject):
    spec: ServiceSpec


class ResourceQuotaSpec(PartialModel):
    hard: Annotated[dict[str, Quantity], Field(min_length=1)]


class ResourceQuota(ExtraObject):
    spec: ResourceQuotaSpec


class LimitRangeItem(PartialModel):
    type: str
    default: dict[str, Quantity] | None = None
    default_request: dict[str, Quantity] | None = None
    max: dict[str, Quantity] | None = None
    min: dict[str, Quantity] | None = None
    max_limit_request_ratio: dict[str, Quantity] | None = None


class LimitRangeSpec(Model):
    limits: Annotated[list[LimitRangeItem], Field(min_length=1)]


class LimitRange(ExtraObject):
    spec: LimitRangeSpec


class NetworkPolicyPeer(PartialModel):
    namespace_selector: Manifest | None = None

    @field_validator("namespace_selector")
    @classmethod
    def _selector_is_not_empty(cls, selector: Manifest | None) -> Manifest | None:
        if selector is not None and not any(selector.values()):
            raise ValueError("give at least one label; an empty selector would select everything")
        return selector


class NetworkPolicyIngressRule(Model):
    # A rule without peers would allow all sources, and so disable the tenant's isolation.
    from_: Annotated[list[NetworkPolicyPeer], Field(min_length=1)] = Field(alias="from")
    ports: ListOrEmpty[PortSchema]


class NetworkPolicyEgressRule(Model):
    to: Annotated[list[NetworkPolicyPeer], Field(min_length=1)]
    ports: ListOrEmpty[PortSchema]


class NetworkPolicySpec(Model):
    pod_selector: ObjectOrEmpty
    policy_types: list[str]
    ingress: ListOrEmpty[NetworkPolicyIngressRule]
    egress: ListOrEmpty[NetworkPolicyEgressRule]

    @model_validator(mode="before")
    @classmethod
    def _default_policy_types(cls, spec: Any) -> Any:
        if not isinstance(spec, Mapping) or spec.get("policyTypes"):
            return spec
        return {**spec, "policyTypes": ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]}


class NetworkPolicy(ExtraObject):
    spec: NetworkPolicySpec


class DisruptionBudget(ExtraObject):
    spec: Manifest


SCHEMAS: Final[dict[Kind, type[ExtraObject]]] = {
    CONFIG_MAP: ConfigMap,
    SERVICE_ACCOUNT: ServiceAccount,
    SERVICE: ServiceManifest,
    RESOURCE_QUOTA: ResourceQuota,
    LIMIT_RANGE: LimitRange,
    NETWORK_POLICY: NetworkPolicy,
    DISRUPTION_BUDGET: DisruptionBudget,
}


def _check_prefix(entries: dict[str, str], reserved_prefix: str) -> dict[str, str]:
    raise_problems(
        ((name,), f"{name!r} is reserved: use a name that does not begin with {reserved_prefix}")
        for name in entries
        if name.startswith(reserved_prefix)
    )
    return entries
