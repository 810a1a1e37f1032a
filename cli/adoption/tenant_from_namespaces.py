"""From what stands in namespaces to the Tenant that takes them over, and notes on what it can't hold. Pure.

Called by `import`. Figures come from quotas; where there are none, from what is in use.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from cli.adoption.existing_namespaces import ExistingNamespace
from tenancy.base.kinds import TENANTS
from tenancy.base.manifest import Manifest
from tenancy.base.names import NAMESPACE_MAX_LENGTH, namespace_name
from tenancy.base.quantity import quantity_value
from tenancy.plans import Plan, Plans
from tenancy.spec.tenant import AccessRole, DeletionPolicy, Purpose, SubjectKind

# The roles that Kubernetes ships, and ours that are nearest to them.
_ROLES: Final = {"admin": AccessRole.ADMIN, "edit": AccessRole.OPERATOR, "view": AccessRole.VIEWER}
# The tenant's own figure stands for all of these: the largest keeps every workload going.
_FIGURES: Final = {
    "cpu": ("cpu", "requests.cpu", "limits.cpu"),
    "memory": ("memory", "requests.memory", "limits.memory"),
    "storage": ("requests.storage",),
}
_MAPPED: Final = {key for keys in _FIGURES.values() for key in keys}
_PURPOSES: Final = {
    "prod": Purpose.PRODUCTION,
    "production": Purpose.PRODUCTION,
    "stage": Purpose.STAGING,
    "staging": Purpose.STAGING,
}


def adopting_manifest(name: str, plan: str, found: Sequence[ExistingNamespace]) -> Manifest:
    spec: dict[str, Any] = {"plan": plan, "adopt": True, "deletionPolicy": DeletionPolicy.RETAIN.value}
    short_names = _short_names(name, [space.name for space in found])
    if short_names:
        spec["namespaces"] = [_namespace(name, full, short) for full, short in short_names.items()]
    if access := _access(found, short_names):
        spec["access"] = access
    if figures := resource_quotas(found):
        spec["resourceQuotas"] = figures
    kind = TENANTS[0]
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}


def resource_quotas(found: Iterable[ExistingNamespace]) -> dict[str, str]:
    """Per resource the largest that a namespace's quotas allow: each of the tenant's gets the same."""
    figures: dict[str, str] = {}
    for space in found:
        for figure, keys in _FIGURES.items():
            tightest = [_least(space.quotas, key) for key in keys]
            for amount in filter(None, tightest):
                if figure not in figures or quantity_value(amount) > quantity_value(figures[figure]):
                    figures[figure] = amount
    return figures


def smallest_fitting_plan(plans: Plans, found: Sequence[ExistingNamespace]) -> str:
    """The smallest whose figures fit; the largest where none does."""
    needs = _needs(found)
    by_size = sorted(plans.plans, key=lambda name: tuple(_plan_figures(plans.plans[name]).values()))
    for name in by_size:
        plan = plans.plans[name]
        allowed = _plan_figures(plan)
        if len(found) <= plan.max_namespaces and all(needs[figure] <= allowed[figure] for figure in _FIGURES):
            return name
    return by_size[-1]


def plan_notes(name: str, plan: Plan, found: Sequence[ExistingNamespace]) -> Iterator[str]:
    if len(found) > plan.max_namespaces:
        yield (
            f"Plan {name} allows {plan.max_namespaces} namespaces, these are {len(found)}: set maxNamespaces "
            "here, take another plan, or make two tenants."
        )
    has_quota, allowed = resource_quotas(found), _plan_figures(plan)
    for figure, needed in _needs(found).items():
        if figure not in has_quota and needed > allowed[figure]:
            yield (
                f"A namespace uses more {figure} than plan {name} allows, and has no quota for it: set "
                f"resourceQuotas.{figure}, or new pods are refused."
            )


def binding_notes(space: ExistingNamespace) -> Iterator[str]:
    for binding in space.bindings:
        who = ", ".join(f"{subject['kind']} {subject['name']}" for subject in binding.get("subjects") or ())
        role, place = binding["roleRef"], f"RoleBinding {space.name}/{binding['metadata']['name']}"
        if _role_of(binding):
            yield f"{place} ({role['name']}: {who}) is in `access` now: delete it when the tenant is Active."
        else:
            yield f"{place} stays, beside the tenant's access: {role['kind']} {role['name']} for {who}."


def quota_notes(space: ExistingNamespace) -> Iterator[str]:
    for quota in space.quotas:
        others = sorted(set(quota["spec"].get("hard") or {}) - _MAPPED)
        kept = f" Not taken over: {', '.join(others)}." if others else ""
        yield (
            f"ResourceQuota {space.name}/{quota['metadata']['name']} stays, beside the tenant's own: delete "
            f"it when the tenant is Active.{kept}"
        )


def policy_notes(space: ExistingNamespace) -> Iterator[str]:
    """Policies add up: what an old one opens stays open."""
    for policy in space.policies:
        spec = policy["spec"]
        opened = [
            f"{word} {_peers(rule.get(side) or ())}"
            for direction, side, word in (("ingress", "from", "in from"), ("egress", "to", "out to"))
            for rule in spec.get(direction) or ()
        ]
        told = f"lets traffic {'; '.join(opened)}" if opened else "opens nothing"
        yield f"NetworkPolicy {space.name}/{policy['metadata']['name']} stays: it {told}."


def _short_names(tenant: str, names: Sequence[str]) -> dict[str, str]:
    """Each namespace's name within the tenant. None at all where the only one is the tenant's default."""
    if list(names) == [namespace_name(tenant)]:
        return {}
    room = NAMESPACE_MAX_LENGTH - len(namespace_name(tenant, "-"))
    taken: dict[str, str] = {}
    for full in names:
        short = full.removeprefix("tenant-").removeprefix(f"{tenant}-")[:room].strip("-")
        while short in taken.values():
            short = f"{short[: room - 2].strip('-')}-{len(taken) + 1}"
        taken[full] = short
    return taken


def _namespace(tenant: str, full: str, short: str) -> dict[str, str]:
    given = {"name": short}
    purposes = {_PURPOSES[word] for word in full.split("-") if word in _PURPOSES}
    if len(purposes) == 1:
        given["purpose"] = purposes.pop().value
    return given if full == namespace_name(tenant, short) else {**given, "existing": full}


def _access(found: Sequence[ExistingNamespace], short_names: Mapping[str, str]) -> list[dict[str, Any]]:
    places: dict[tuple[str, str, str, str], list[str]] = {}
    for space in found:
        for binding in space.bindings:
            role = _role_of(binding)
            for subject in binding.get("subjects") or () if role else ():
                home = subject.get("namespace", "") if subject["kind"] == SubjectKind.SERVICE_ACCOUNT else ""
                who = (subject["kind"], subject["name"], home, str(role))
                places.setdefault(who, []).append(space.name)
    entries = []
    for (kind, name, home, role_name), spaces in sorted(places.items()):
        entry: dict[str, Any] = {"kind": kind, "name": name, "role": role_name}
        if home:
            entry["namespace"] = home
        if len(set(spaces)) < len(found):
            entry["namespaces"] = sorted({short_names[space] for space in spaces})
        entries.append(entry)
    return entries


def _role_of(binding: Manifest) -> AccessRole | None:
    role = binding["roleRef"]
    return _ROLES.get(role["name"]) if role["kind"] == "ClusterRole" else None


def _least(quotas: Iterable[Manifest], key: str) -> str | None:
    """Of several quotas for one resource, the tightest counts."""
    amounts = [hard[key] for quota in quotas if key in (hard := quota["spec"].get("hard") or {})]
    return min(amounts, key=quantity_value, default=None)


def _needs(found: Iterable[ExistingNamespace]) -> dict[str, Decimal]:
    spaces = list(found)
    needs = {figure: quantity_value(amount) for figure, amount in resource_quotas(spaces).items()}
    used = {
        "cpu": [_requested(space.pods, "cpu") for space in spaces],
        "memory": [_requested(space.pods, "memory") for space in spaces],
        "storage": [sum((_claimed(claim) for claim in space.claims), Decimal()) for space in spaces],
    }
    return {figure: max(needs.get(figure, Decimal()), *amounts) for figure, amounts in used.items()}


def _requested(pods: Iterable[Manifest], resource: str) -> Decimal:
    return sum(
        (
            quantity_value(str(asked))
            for pod in pods
            for container in pod["spec"].get("containers") or ()
            if (asked := ((container.get("resources") or {}).get("requests") or {}).get(resource))
        ),
        Decimal(),
    )


def _claimed(claim: Manifest) -> Decimal:
    asked = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
    return quantity_value(str(asked))


def _plan_figures(plan: Plan) -> dict[str, Decimal]:
    """What the plan allows in one namespace. What it does not limit is without end."""
    quotas = [{"spec": {"hard": quota.hard}} for quota in plan.quotas]
    figures = {}
    for figure, keys in _FIGURES.items():
        amounts = [quantity_value(amount) for key in keys if (amount := _least(quotas, key))]
        figures[figure] = min(amounts, default=Decimal("Infinity"))
    return figures


def _peers(peers: Iterable[Manifest]) -> str:
    told = []
    for peer in peers:
        if "ipBlock" in peer:
            told.append(peer["ipBlock"]["cidr"])
            continue
        spaces, pods = peer.get("namespaceSelector"), peer.get("podSelector")
        place = "its own namespace" if spaces is None else f"namespaces {_selected(spaces)}"
        told.append(f"pods {_selected(pods)} of {place}" if pods else place)
    return ", ".join(told) or "anywhere"


def _selected(selector: Manifest) -> str:
    words = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    words += [
        " ".join([rule["key"], rule["operator"], ",".join(rule.get("values") or ())]).strip()
        for rule in selector.get("matchExpressions") or ()
    ]
    return ", ".join(words) or "(all)"
