"""Creates the manifest of a Tenant that adopts existing namespaces. No I/O.

The Tenant gets the quotas of the existing ResourceQuotas in the namespaces. The plan must be large enough for
these quotas. A namespace may have no ResourceQuota. So the plan must also be large enough for the requests of
the pods and PersistentVolumeClaims in each namespace.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from cli.adoption.existing_namespaces import ExistingNamespace
from tenancy.base.kinds import TENANTS
from tenancy.base.manifest import Manifest
from tenancy.base.names import NAMESPACE_MAX_LENGTH, namespace_name
from tenancy.base.quantity import quantity_value
from tenancy.base.quota_keys import OVERRIDE_KEYS
from tenancy.plans import Plan, Plans
from tenancy.spec.access import AccessRole, SubjectKind
from tenancy.spec.namespace_spec import Purpose
from tenancy.spec.tenant import DeletionPolicy

# The user-facing ClusterRoles of Kubernetes, and the most similar tenant role for each of them.
_ROLES: Final = {"admin": AccessRole.ADMIN, "edit": AccessRole.OPERATOR, "view": AccessRole.VIEWER}
_PURPOSES: Final = {
    "prod": Purpose.PRODUCTION,
    "production": Purpose.PRODUCTION,
    "stage": Purpose.STAGING,
    "staging": Purpose.STAGING,
}


def adopting_manifest(name: str, plan: str, namespaces: Sequence[ExistingNamespace]) -> Manifest:
    """The manifest of a Tenant that adopts these namespaces. It contains their access rules and quotas.

    The deletion policy is Retain. So the namespaces stay in the cluster if the Tenant is deleted.
    """
    spec: dict[str, Any] = {"plan": plan, "adopt": True, "deletionPolicy": DeletionPolicy.RETAIN.value}
    short_names = _short_names(name, [namespace.name for namespace in namespaces])
    if short_names:
        spec["namespaces"] = [
            _namespace_entry(name, full_name, short_name) for full_name, short_name in short_names.items()
        ]
    if access := _access_entries(namespaces, short_names):
        spec["access"] = access
    if quotas := resource_quotas(namespaces):
        spec["resourceQuotas"] = quotas
    kind = TENANTS[0]
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}


def resource_quotas(namespaces: Iterable[ExistingNamespace]) -> dict[str, str]:
    """The value for `spec.resourceQuotas`. Each field contains the largest limit in the namespaces.

    Every namespace of the tenant gets this limit. A smaller limit could block existing workloads. If no
    namespace has a limit, the field is missing.
    """
    quotas: dict[str, str] = {}
    for namespace in namespaces:
        for field, keys in OVERRIDE_KEYS.items():
            limits = [_tightest(namespace.quotas, key) for key in keys]
            for limit in filter(None, limits):
                if field not in quotas or quantity_value(limit) > quantity_value(quotas[field]):
                    quotas[field] = limit
    return quotas


def smallest_fitting_plan(plans: Plans, namespaces: Sequence[ExistingNamespace]) -> str:
    """The name of the smallest plan that is large enough for the namespaces.

    If no plan is large enough, the result is the name of the largest plan.
    """
    needs = needs_of_namespaces(namespaces)
    by_size = sorted(plans.plans, key=lambda name: tuple(plan_limits(plans.plans[name]).values()))
    for name in by_size:
        plan = plans.plans[name]
        limits = plan_limits(plan)
        if len(namespaces) <= plan.max_namespaces and all(
            needs[field] <= limits[field] for field in OVERRIDE_KEYS
        ):
            return name
    return by_size[-1]


def _short_names(tenant: str, namespaces: Sequence[str]) -> dict[str, str]:
    """Map the full name of each namespace to the short name that `spec.namespaces` contains.

    The result is empty if the only namespace is the tenant's default namespace. In this case, the Tenant
    needs no `spec.namespaces`.
    """
    if list(namespaces) == [namespace_name(tenant)]:
        return {}
    max_length = NAMESPACE_MAX_LENGTH - len(namespace_name(tenant, "-"))
    short_names: dict[str, str] = {}
    for full_name in namespaces:
        short_name = full_name.removeprefix("tenant-").removeprefix(f"{tenant}-")[:max_length].strip("-")
        while short_name in short_names.values():
            short_name = f"{short_name[: max_length - 2].strip('-')}-{len(short_names) + 1}"
        short_names[full_name] = short_name
    return short_names


def _namespace_entry(tenant: str, full_name: str, short_name: str) -> dict[str, str]:
    entry = {"name": short_name}
    purposes = {_PURPOSES[word] for word in full_name.split("-") if word in _PURPOSES}
    if len(purposes) == 1:
        entry["purpose"] = purposes.pop().value
    return entry if full_name == namespace_name(tenant, short_name) else {**entry, "existing": full_name}


def _access_entries(
    namespaces: Sequence[ExistingNamespace], short_names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The entries for `spec.access`, one for each subject and role in the RoleBindings of the namespaces.

    If the subject has the role in all namespaces, the entry lists no namespaces.
    """
    grants: dict[tuple[str, str, str, str], list[str]] = {}
    for namespace in namespaces:
        for binding in namespace.role_bindings:
            role = access_role(binding)
            for subject in binding.get("subjects") or () if role else ():
                is_account = subject["kind"] == SubjectKind.SERVICE_ACCOUNT
                account_namespace = subject.get("namespace", "") if is_account else ""
                grant = (subject["kind"], subject["name"], account_namespace, str(role))
                grants.setdefault(grant, []).append(namespace.name)
    entries = []
    for (kind, name, account_namespace, role_name), granted_in in sorted(grants.items()):
        entry: dict[str, Any] = {"kind": kind, "name": name, "role": role_name}
        if account_namespace:
            entry["namespace"] = account_namespace
        if len(set(granted_in)) < len(namespaces):
            entry["namespaces"] = sorted({short_names[full_name] for full_name in granted_in})
        entries.append(entry)
    return entries


def access_role(binding: Manifest) -> AccessRole | None:
    """The tenant role, such as `viewer`, that is most similar to the ClusterRole of a RoleBinding.

    None if no tenant role is similar.
    """
    role = binding["roleRef"]
    return _ROLES.get(role["name"]) if role["kind"] == "ClusterRole" else None


def _tightest(quotas: Iterable[Manifest], key: str) -> str | None:
    """The smallest limit for the key in these quotas. None if no quota limits the key.

    The API server enforces all quotas, so the smallest limit takes effect.
    """
    limits = [hard[key] for quota in quotas if key in (hard := quota["spec"].get("hard") or {})]
    return min(limits, key=quantity_value, default=None)


def needs_of_namespaces(namespaces: Sequence[ExistingNamespace]) -> dict[str, Decimal]:
    """For each field of `spec.resourceQuotas`, the largest amount that a single namespace needs.

    A namespace needs its current quota. If the requests in the namespace exceed the quota, it needs the sum
    of these requests.
    """
    quotas = {field: quantity_value(limit) for field, limit in resource_quotas(namespaces).items()}
    requested = {
        "cpu": [_requested(namespace.pods, "cpu") for namespace in namespaces],
        "memory": [_requested(namespace.pods, "memory") for namespace in namespaces],
        "storage": [
            sum((_claimed(claim) for claim in namespace.volume_claims), Decimal()) for namespace in namespaces
        ],
    }
    return {field: max(quotas.get(field, Decimal()), *amounts) for field, amounts in requested.items()}


def _requested(pods: Iterable[Manifest], resource: str) -> Decimal:
    return sum(
        (
            quantity_value(str(request))
            for pod in pods
            for container in pod["spec"].get("containers") or ()
            if (request := ((container.get("resources") or {}).get("requests") or {}).get(resource))
        ),
        Decimal(),
    )


def _claimed(claim: Manifest) -> Decimal:
    request = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
    return quantity_value(str(request))


def plan_limits(plan: Plan) -> dict[str, Decimal]:
    """For each field of `spec.resourceQuotas`, the plan's limit for one namespace.

    If the plan does not limit the field, the limit is infinite.
    """
    quotas = [{"spec": {"hard": quota.hard}} for quota in plan.quotas]
    limits = {}
    for field, keys in OVERRIDE_KEYS.items():
        amounts = [quantity_value(amount) for key in keys if (amount := _tightest(quotas, key))]
        limits[field] = min(amounts, default=Decimal("Infinity"))
    return limits
