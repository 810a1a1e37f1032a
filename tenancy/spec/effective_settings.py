"""Merges the settings of a plan with the settings of a Tenant."""

from typing import Any, Final

from tenancy.base.model import Model
from tenancy.spec.settings import Settings, TenantSettings

_NESTED_MODELS: Final = ("network", "roles", "istio", "gatekeeper", "hnc")


def effective_settings(plan: Settings, tenant_spec: Settings) -> TenantSettings:
    """The settings of one tenant. A setting of the tenant overrides the same setting of the plan.

    There are three exceptions:

    - `network`, `roles`, `istio`, `gatekeeper` and `hnc` are merged field by field.
    - The quotas of the tenant are added to the quotas of the plan. If two quotas have the same name, the
      tenant's quota is used.
    - The extra resources of the tenant are added to the extra resources of the plan.
    """
    plan_fields, tenant_fields = _set_fields(plan), _set_fields(tenant_spec)
    merged = {**plan_fields, **tenant_fields}
    for name in _NESTED_MODELS:
        if name in plan_fields and name in tenant_fields:
            merged[name] = plan_fields[name].model_copy(update=_set_fields(tenant_fields[name]))
    quotas = (*plan_fields.get("quotas", ()), *tenant_fields.get("quotas", ()))
    merged["quotas"] = tuple({quota.name: quota for quota in quotas}.values())
    merged["extra_resources"] = (
        *plan_fields.get("extra_resources", ()),
        *tenant_fields.get("extra_resources", ()),
    )
    return TenantSettings.model_construct(**merged)


def settings_from_plan(plan: Settings, tenant_spec: Settings) -> dict[str, Any]:
    """The settings of the plan that the tenant does not override, in JSON format. The keys are camelCase."""
    plan_fields, tenant_fields = _set_fields(plan), _set_fields(tenant_spec)
    kept = {name: value for name, value in plan_fields.items() if name not in tenant_fields}
    for name in _NESTED_MODELS:
        if name in plan_fields and name in tenant_fields:
            nested = plan_fields[name].model_copy(update=dict.fromkeys(_set_fields(tenant_fields[name])))
            kept |= {name: nested} if _set_fields(nested) else {}
    own_quotas = {quota.name for quota in tenant_fields.get("quotas", ())}
    if quotas := tuple(quota for quota in plan_fields.get("quotas", ()) if quota.name not in own_quotas):
        kept["quotas"] = quotas
    if extra_resources := plan_fields.get("extra_resources"):
        kept["extra_resources"] = extra_resources
    return Settings.model_construct(**kept).model_dump(by_alias=True, mode="json", exclude_none=True)


def _set_fields(model: Model) -> dict[str, Any]:
    """The names and values of a model's fields, without fields whose value is None.

    For a plan or the spec of a Tenant, the result contains only fields that `Settings` defines.
    """
    fields = Settings.model_fields if isinstance(model, Settings) else type(model).model_fields
    return {name: value for name in fields if (value := getattr(model, name)) is not None}
