"""The plans file: what a plan gives to each namespace of a tenant, and what AISessions run.

Read by the watcher and by `__main__.py`. A file with any fault is refused whole.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from tenancy.base.errors import PlansError, UnknownPlan, validation_message
from tenancy.base.fields import DnsLabel, HostPatterns, unique
from tenancy.base.model import Model
from tenancy.base.quantity import quantity_value
from tenancy.objects.role_ceiling import above_admin
from tenancy.spec.role_rules import RoleRules
from tenancy.spec.session_config import SessionsConfig
from tenancy.spec.settings import ContainerLimits, QuotaSpec, Settings

SHIPPED_PLANS = Path(__file__).with_name("plans.yaml")
_TENANT_IN_HOST = "${tenant.name}"


class Plan(Settings):
    """What each tenant on this plan gets, but for what it overrides."""

    max_namespaces: int = Field(ge=1, le=100, description="How many namespaces a tenant may have.")
    quotas: Annotated[tuple[QuotaSpec, ...], Field(min_length=1, max_length=16)] = Field(
        description="ResourceQuotas, each made in every namespace."
    )
    limits: ContainerLimits = Field(description="The LimitRange's figures.")

    @field_validator("quotas")
    @classmethod
    def _names_are_unique(cls, quotas: tuple[QuotaSpec, ...]) -> tuple[QuotaSpec, ...]:
        unique(tuple(quota.name for quota in quotas))
        return quotas

    @field_validator("hostnames")
    @classmethod
    def _hosts_differ_by_tenant(cls, hostnames: HostPatterns | None) -> HostPatterns | None:
        for host in hostnames or ():
            if _TENANT_IN_HOST not in host:
                raise ValueError(f"{host!r} lacks {_TENANT_IN_HOST}: two tenants would have the same host")
        return hostnames

    @model_validator(mode="after")
    def _own_quotas_fit(self) -> "Plan":
        for quota in self.quotas:
            room = quota.hard.get("resourcequotas")
            if room is not None and quantity_value(room) < len(self.quotas):
                raise ValueError(
                    f"quota {quota.name!r} allows {room} resourcequotas, the plan has {len(self.quotas)}"
                )
        return self


class Plans(Model):
    plans: Annotated[Mapping[DnsLabel, Plan], Field(min_length=1)]
    sessions: SessionsConfig = SessionsConfig()

    def plan(self, name: str) -> Plan:
        if name not in self.plans:
            known = ", ".join(sorted(self.plans))
            raise UnknownPlan("spec.plan", f"there is no plan {name!r}; known: {known}")
        return self.plans[name]


def plans_from_text(text: str) -> Plans:
    try:
        plans = Plans.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise PlansError(f"plans file is not YAML: {error}") from None
    except ValidationError as error:
        field, problem = validation_message(error, "plans file ")
        raise PlansError(f"{field.replace(' .', ' ')}: {problem}") from None
    for name, plan in plans.plans.items():
        for field, problem in above_admin(plan.roles or RoleRules()):
            raise PlansError(f"plans file plans.{name}.roles.{field}: {problem}")
    return plans


def read_plans(path: Path = SHIPPED_PLANS) -> Plans:
    try:
        return plans_from_text(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise PlansError(f"plans file is not text: {error}") from None
