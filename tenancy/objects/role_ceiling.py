"""The ceiling of the lower roles: nobody in a tenant may do what its admin may not.

Called when plans are read, and again where a tenant brings rules of its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from tenancy.objects.roles import ROLE_RULES, role_name
from tenancy.spec.role_rules import PolicyRule, RoleRules
from tenancy.spec.tenant import AccessRole


def above_admin(roles: RoleRules) -> Iterator[tuple[str, str]]:
    """Each rule of operator and viewer that the admin's do not cover: its field below `roles`, and why."""
    admin = [*ROLE_RULES[AccessRole.ADMIN], *(rule.model_dump(by_alias=True) for rule in roles.of("admin"))]
    for role in (AccessRole.OPERATOR, AccessRole.VIEWER):
        for index, rule in enumerate(roles.of(role.value)):
            if (fault := _surplus(rule, admin)) is not None:
                field, problem = fault
                yield f"{role.value}[{index}].{field}", problem


def _surplus(rule: PolicyRule, admin: Iterable[Mapping[str, Any]]) -> tuple[str, str] | None:
    for group, resource, verb in product(rule.api_groups, rule.resources, rule.verbs):
        known = [held for held in admin if group in held["apiGroups"] and resource in held["resources"]]
        granted = [held for held in known if verb in held["verbs"]]
        what = f"{resource!r} of {group!r}"
        advice = f"{role_name(AccessRole.ADMIN)} may not, and no role can have more; add it to `admin` too"
        if not known:
            return "resources", f"{what}: {advice}"
        if not granted:
            return "verbs", f"{verb!r} on {what}: {advice}"
        if not _covers_names(granted, rule.resource_names):
            return "resourceNames", f"{verb!r} on {what}, but for some names: {advice}"
    return None


def _covers_names(granted: Iterable[Mapping[str, Any]], names: tuple[str, ...]) -> bool:
    """Without names a rule is for all objects."""
    held = [set(rule.get("resourceNames") or ()) for rule in granted]
    return not all(held) or (bool(names) and set(names) <= set().union(*held))
