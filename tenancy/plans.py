"""The plans file: what a plan gives to each namespace of a tenant.

Read by the watcher and by `__main__.py`. A file with any fault is refused whole.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError, field_validator

from tenancy.errors import PlansError, UnknownPlan, validation_message
from tenancy.model import Model
from tenancy.quantity import Quantity
from tenancy.tenant import DnsLabel

SHIPPED_PLANS = Path(__file__).with_name("plans.yaml")

Amounts = dict[str, Quantity]


class PodSecurity(StrEnum):
    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


class QuotaSpec(Model):
    """One ResourceQuota, made in each namespace."""

    name: DnsLabel
    hard: Annotated[Amounts, Field(min_length=1)]


class ContainerLimits(Model):
    """The LimitRange's figures per container."""

    default_request: Amounts = Field(default_factory=dict)
    default: Amounts = Field(default_factory=dict)
    max: Amounts = Field(default_factory=dict)


class NetworkExtras(Model):
    """Who else may reach a tenant's pods, by labels of their namespace. Isolation itself is no choice."""

    ingress_controller: dict[str, str] | None = None
    monitoring: dict[str, str] | None = None

    @field_validator("ingress_controller", "monitoring")
    @classmethod
    def _labels_select_something(cls, labels: dict[str, str] | None) -> dict[str, str] | None:
        # An empty selector means every namespace, which would open the wall without a word.
        if labels is not None and not labels:
            raise ValueError("give at least one label; an empty selector would let every namespace in")
        return labels


class Plan(Model):
    max_namespaces: int = Field(ge=1)
    quotas: Annotated[tuple[QuotaSpec, ...], Field(min_length=1)]
    limits: ContainerLimits
    pod_security: PodSecurity = PodSecurity.RESTRICTED
    istio_injection: bool = False
    network: NetworkExtras = NetworkExtras()

    @field_validator("quotas")
    @classmethod
    def _names_are_unique(cls, quotas: tuple[QuotaSpec, ...]) -> tuple[QuotaSpec, ...]:
        names = [quota.name for quota in quotas]
        if len(set(names)) < len(names):
            raise ValueError("two quotas have the same name")
        return quotas


class Plans(Model):
    plans: Annotated[Mapping[DnsLabel, Plan], Field(min_length=1)]

    def plan(self, name: str) -> Plan:
        if name not in self.plans:
            known = ", ".join(sorted(self.plans))
            raise UnknownPlan("spec.plan", f"there is no plan {name!r}; known: {known}")
        return self.plans[name]


def plans_from_text(text: str) -> Plans:
    try:
        return Plans.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise PlansError(f"plans file is not YAML: {error}") from None
    except ValidationError as error:
        field, problem = validation_message(error, "plans file ")
        raise PlansError(f"{field.replace(' .', ' ')}: {problem}") from None


def read_plans(path: Path = SHIPPED_PLANS) -> Plans:
    try:
        return plans_from_text(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise PlansError(f"plans file is not text: {error}") from None
