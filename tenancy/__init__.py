"""The tenant library: models, desired state, and the Pulumi component `Tenant`.

    tenancy.Tenant("acme", tenancy.TenantSpec(plan="pro"))

The import of Pulumi is slow. So this package imports the module of a public name only when a program uses the
name for the first time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tenancy.base.errors import InvalidSpec, PlansError, TenancyError, UnknownPlan
    from tenancy.component import Tenant, TenantResources
    from tenancy.desired import DesiredState, desired_state
    from tenancy.plans import Plan, Plans, plans_from_text, read_plans
    from tenancy.spec.access import Access, AccessRole, RbacConfig, SubjectKind
    from tenancy.spec.extra_role_rules import PolicyRule, RoleRules
    from tenancy.spec.integration_settings import Gatekeeper, Hnc, Istio
    from tenancy.spec.namespace_spec import NamespaceSpec, Purpose
    from tenancy.spec.network_settings import Addresses, Network, PortRange, Protocol
    from tenancy.spec.settings import (
        ContainerLimits,
        PodSecurity,
        PullPolicy,
        QuotaScope,
        QuotaSpec,
        ServiceType,
    )
    from tenancy.spec.tenant import DeletionPolicy, ResourceQuotas, TenantSpec

__all__ = [
    "Access",
    "AccessRole",
    "Addresses",
    "ContainerLimits",
    "DeletionPolicy",
    "DesiredState",
    "Gatekeeper",
    "Hnc",
    "InvalidSpec",
    "Istio",
    "NamespaceSpec",
    "Network",
    "Plan",
    "Plans",
    "PlansError",
    "PodSecurity",
    "PolicyRule",
    "PortRange",
    "Protocol",
    "PullPolicy",
    "Purpose",
    "QuotaScope",
    "QuotaSpec",
    "RbacConfig",
    "ResourceQuotas",
    "RoleRules",
    "ServiceType",
    "SubjectKind",
    "TenancyError",
    "Tenant",
    "TenantResources",
    "TenantSpec",
    "UnknownPlan",
    "desired_state",
    "plans_from_text",
    "read_plans",
]

_MODULES: Final = (
    "base.errors",
    "spec.extra_role_rules",
    "spec.settings",
    "spec.network_settings",
    "spec.integration_settings",
    "spec.access",
    "spec.namespace_spec",
    "spec.tenant",
    "plans",
    "desired",
)
# The public names that the module `component` defines. The import of `component` is slow, because it imports
# Pulumi. So `component` is imported only for these names.
_COMPONENTS: Final = ("Tenant", "TenantResources")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = ("component",) if name in _COMPONENTS else _MODULES
    module_attributes = (vars(import_module(f"{__name__}.{module}")) for module in modules)
    return next(attributes[name] for attributes in module_attributes if name in attributes)


def __dir__() -> list[str]:
    return __all__
