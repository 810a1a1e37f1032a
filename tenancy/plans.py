"""The plans file: the settings of each plan, and the configuration of AISessions.

If any part of the file is invalid, the whole file is rejected.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from tenancy.base.errors import PlansError, UnknownPlan, joined_problems
from tenancy.base.fields import DnsLabel, HostPatterns, require_unique
from tenancy.base.model import Model
from tenancy.base.pulumi_signature import SIGNATURE_PROBLEM, signature_paths
from tenancy.base.quantity import quantity_value
from tenancy.base.validation import raise_problems, validation_message
from tenancy.objects.role_ceiling import rules_beyond_admin
from tenancy.spec.extra_role_rules import RoleRules
from tenancy.spec.session_config import SessionsConfig
from tenancy.spec.settings import ContainerLimits, QuotaSpec, Settings

SHIPPED_PLANS = Path(__file__).with_name("plans.yaml")
_TENANT_PLACEHOLDER = "${tenant.name}"


class Plan(Settings):
    """The settings of all tenants that use this plan. Each tenant can override them."""

    max_namespaces: int = Field(
        ge=1,
        le=100,
        description="The maximum number of namespaces that a tenant can have.",
    )
    quotas: Annotated[tuple[QuotaSpec, ...], Field(min_length=1, max_length=16)] = Field(
        description="ResourceQuotas that each namespace gets.",
    )
    limits: ContainerLimits = Field(
        description="Defaults and maxima for containers. Each namespace gets them in the LimitRange "
        "`tenant-limits`.",
    )

    @field_validator("quotas")
    @classmethod
    def _names_are_unique(cls, quotas: tuple[QuotaSpec, ...]) -> tuple[QuotaSpec, ...]:
        require_unique(tuple(quota.name for quota in quotas))
        return quotas

    @field_validator("hostnames")
    @classmethod
    def _hosts_differ_by_tenant(cls, hostnames: HostPatterns | None) -> HostPatterns | None:
        raise_problems(
            (
                (index,),
                f"{host!r} must contain {_TENANT_PLACEHOLDER}, so that each tenant gets a different host",
            )
            for index, host in enumerate(hostnames or ())
            if _TENANT_PLACEHOLDER not in host
        )
        return hostnames

    @model_validator(mode="after")
    def _quota_count_is_allowed(self) -> "Plan":
        count = len(self.quotas)
        raise_problems(
            (
                ("quotas", index, "hard", "resourcequotas"),
                f"must be at least {count}, not {limit}, because the plan has {count} quotas",
            )
            for index, quota in enumerate(self.quotas)
            if (limit := quota.hard.get("resourcequotas")) is not None and quantity_value(limit) < count
        )
        return self


class Plans(Model):
    """The content of a plans file."""

    plans: Annotated[Mapping[DnsLabel, Plan], Field(min_length=1)]
    sessions: SessionsConfig = SessionsConfig()

    def plan(self, name: str) -> Plan:
        """The plan of this name. Raises UnknownPlan if the file does not contain it."""
        if name not in self.plans:
            known = ", ".join(sorted(self.plans))
            raise UnknownPlan("spec.plan", f"there is no plan {name!r}; known: {known}")
        return self.plans[name]


def plans_from_text(text: str) -> Plans:
    """Parse the YAML text of a plans file. Raises PlansError with the path of each invalid field."""
    try:
        content = yaml.safe_load(text)
        plans = Plans.model_validate(content)
    except yaml.YAMLError as error:
        raise PlansError(f"plans file is not YAML: {error}") from None
    except ValidationError as error:
        raise PlansError(f"plans file {validation_message(error)}") from None
    except (ValueError, RecursionError) as error:
        # The YAML library raises these errors for a day that does not exist, and for deeply nested values.
        raise PlansError(f"plans file can't be read: {error}") from None
    problems = [f"{path}: {SIGNATURE_PROBLEM}" for path in signature_paths(content)]
    problems += [
        f"plans.{name}.roles.{field}: {problem}"
        for name, plan in plans.plans.items()
        for field, problem in rules_beyond_admin(plan.roles or RoleRules())
    ]
    if problems:
        raise PlansError(f"plans file {joined_problems(problems)}")
    return plans


def read_plans(path: Path = SHIPPED_PLANS) -> Plans:
    """Read a plans file. The default is the plans file in this package.

    Raises PlansError if the content is invalid, and OSError if the file can't be read.
    """
    try:
        return plans_from_text(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise PlansError(f"plans file is not UTF-8 text: {error}") from None
