"""The form of each kind of extra object: which fields it has, and which of them it may not use.

Used by `extra_template`. What the API server would add by itself is added here, so that a live object can be
compared with all that it should be.
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
from tenancy.base.manifest import Manifest
from tenancy.base.model import Model
from tenancy.base.names import TENANT_LABEL
from tenancy.base.quantity import Quantity

RESERVED_LABELS: Final = TENANT_LABEL.partition("/")[0] + "/"
RESERVED_ANNOTATIONS: Final = "pulumi.com/"

Item = TypeVar("Item")
Texts = Annotated[dict[str, str], Field(default_factory=dict)]
Part = Annotated[Manifest, Field(default_factory=dict)]
Items = Annotated[list[Item], Field(default_factory=list)]


class Open(Model, extra="allow"):
    """A part of an object of which we look only at some fields."""


class Metadata(Model):
    name: Annotated[str, Field(min_length=1)]
    labels: Texts
    annotations: Texts

    @field_validator("labels")
    @classmethod
    def _labels_are_its_own(cls, labels: dict[str, str]) -> dict[str, str]:
        return _without_prefix(labels, RESERVED_LABELS)

    @field_validator("annotations")
    @classmethod
    def _annotations_are_its_own(cls, annotations: dict[str, str]) -> dict[str, str]:
        return _without_prefix(annotations, RESERVED_ANNOTATIONS)


class Extra(Model):
    api_version: str
    kind: str
    metadata: Metadata


class ConfigMap(Extra):
    data: Texts
    binary_data: Texts
    immutable: bool | None = None


class ServiceAccount(Extra):
    automount_service_account_token: bool | None = None
    image_pull_secrets: list[Manifest] | None = None


class Port(Open):
    protocol: str = "TCP"


class ServicePort(Port):
    node_port: None = None


class ServiceSpec(Open):
    # A node's port or a foreign address would reach past the tenant's walls.
    type: Literal["ClusterIP", "LoadBalancer", "ExternalName"] = "ClusterIP"
    external_ips: Annotated[list[str], Field(max_length=0)] = Field(default=[], alias="externalIPs")
    selector: Texts
    ports: Items[ServicePort]


class Service(Extra):
    spec: ServiceSpec


class QuotaSpec(Open):
    hard: Annotated[dict[str, Quantity], Field(min_length=1)]


class ResourceQuota(Extra):
    spec: QuotaSpec


class Limit(Open):
    type: str
    default: dict[str, Quantity] | None = None
    default_request: dict[str, Quantity] | None = None
    max: dict[str, Quantity] | None = None
    min: dict[str, Quantity] | None = None
    max_limit_request_ratio: dict[str, Quantity] | None = None


class LimitRangeSpec(Model):
    limits: Annotated[list[Limit], Field(min_length=1)]


class LimitRange(Extra):
    spec: LimitRangeSpec


class Peer(Open):
    namespace_selector: Manifest | None = None

    @field_validator("namespace_selector")
    @classmethod
    def _selects_somebody(cls, selector: Manifest | None) -> Manifest | None:
        if selector is not None and not any(selector.values()):
            raise ValueError("give at least one label; an empty selector would select everything")
        return selector


class Ingress(Model):
    # Without peers a rule is for everybody: isolation can't be switched off, only opened for somebody.
    from_: Annotated[list[Peer], Field(min_length=1)] = Field(alias="from")
    ports: Items[Port]


class Egress(Model):
    to: Annotated[list[Peer], Field(min_length=1)]
    ports: Items[Port]


class NetworkPolicySpec(Model):
    pod_selector: Part
    policy_types: list[str]
    ingress: Items[Ingress]
    egress: Items[Egress]

    @model_validator(mode="before")
    @classmethod
    def _types_follow_rules(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or given.get("policyTypes"):
            return given
        return {**given, "policyTypes": ["Ingress", "Egress"] if given.get("egress") else ["Ingress"]}


class NetworkPolicy(Extra):
    spec: NetworkPolicySpec


class DisruptionBudget(Extra):
    spec: Manifest


FORMS: Final[dict[Kind, type[Extra]]] = {
    CONFIG_MAP: ConfigMap,
    SERVICE_ACCOUNT: ServiceAccount,
    SERVICE: Service,
    RESOURCE_QUOTA: ResourceQuota,
    LIMIT_RANGE: LimitRange,
    NETWORK_POLICY: NetworkPolicy,
    DISRUPTION_BUDGET: DisruptionBudget,
}


def _without_prefix(names: dict[str, str], reserved: str) -> dict[str, str]:
    for name in names:
        if name.startswith(reserved):
            raise ValueError(f"{name!r} is reserved: nothing here may begin with {reserved}")
    return names
