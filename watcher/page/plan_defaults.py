"""The settings that a tenant gets from its plan, as the web page shows them. No I/O."""

from typing import Any

from tenancy.base.errors import Rejection
from tenancy.base.manifest import Manifest
from tenancy.base.quota_keys import OVERRIDE_KEYS
from tenancy.plans import Plans
from tenancy.spec.effective_settings import settings_from_plan
from tenancy.spec.tenant import TenantSpec, tenant_from_manifest

_EXTRA_RESOURCES = "extraResources"


def plan_defaults(tenant: Manifest, plans: Plans) -> dict[str, Any] | None:
    """The settings of the plan that the Tenant's spec does not override. The keys are fields of the spec.

    For each extra object of the plan, the result contains only the kind and the name, because the content can
    be confidential. Returns None if the spec is invalid, or if the plan does not exist.
    """
    try:
        spec = tenant_from_manifest(tenant).spec
        plan = plans.plan(spec.plan)
    except Rejection:
        return None
    settings = settings_from_plan(plan, spec)
    if quotas := settings.get("quotas"):
        settings["quotas"] = [_without_overrides(quota, spec) for quota in quotas]
    if extra := settings.get(_EXTRA_RESOURCES):
        settings[_EXTRA_RESOURCES] = [
            {"kind": manifest["kind"], "name": manifest["metadata"]["name"]} for manifest in extra
        ]
    return settings


def _without_overrides(quota: dict[str, Any], spec: TenantSpec) -> dict[str, Any]:
    """The quota without the amounts that `spec.resourceQuotas` sets."""
    amounts = spec.resource_quotas.model_dump(exclude_none=True)
    overridden = {key for field in amounts for key in OVERRIDE_KEYS[field]}
    return {**quota, "hard": {key: value for key, value in quota["hard"].items() if key not in overridden}}
