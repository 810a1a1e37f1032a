"""Checks that `tenant-operator` and `tenant-viewer` have no permission that `tenant-admin` lacks."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from tenancy.objects.roles import ROLE_RULES, role_name
from tenancy.spec.access import AccessRole
from tenancy.spec.extra_role_rules import PolicyRule, RoleRules


def rules_beyond_admin(roles: RoleRules) -> Iterator[tuple[str, str]]:
    """The rules of operator and viewer with a permission that the admin lacks.

    Each item is a pair: the path of the invalid field below `roles`, and a description of the problem.
    """
    admin_rules = [
        *ROLE_RULES[AccessRole.ADMIN],
        *(rule.model_dump(by_alias=True) for rule in roles.of("admin")),
    ]
    for role in (AccessRole.OPERATOR, AccessRole.VIEWER):
        for index, rule in enumerate(roles.of(role.value)):
            if (excess := _first_excess(rule, admin_rules)) is not None:
                field, problem = excess
                yield f"{role.value}[{index}].{field}", problem


def _first_excess(rule: PolicyRule, admin_rules: Iterable[Mapping[str, Any]]) -> tuple[str, str] | None:
    """The invalid field of the rule, and a description of the problem.

    None if the admin has all permissions that the rule grants.
    """
    for group, resource, verb in product(rule.api_groups, rule.resources, rule.verbs):
        for_resource = [
            admin_rule
            for admin_rule in admin_rules
            if group in admin_rule["apiGroups"] and resource in admin_rule["resources"]
        ]
        for_verb = [admin_rule for admin_rule in for_resource if verb in admin_rule["verbs"]]
        target = f"{resource!r} in API group {group!r}"
        admin = role_name(AccessRole.ADMIN)
        advice = f"{admin} lacks this permission, so no other role can have it; add it to `admin` too"
        if not for_resource:
            return "resources", f"{target}: {advice}"
        if not for_verb:
            return "verbs", f"{verb!r} on {target}: {advice}"
        if not _covers_names(for_verb, rule.resource_names):
            return "resourceNames", f"{verb!r} on some objects of {target}: {advice}"
    return None


def _covers_names(rules: Iterable[Mapping[str, Any]], names: tuple[str, ...]) -> bool:
    """Whether the rules together apply to every object whose name is in `names`.

    If `names` is empty, the rules must apply to all objects.
    """
    allowed_names = [set(rule.get("resourceNames") or ()) for rule in rules]
    return not all(allowed_names) or (bool(names) and set(names) <= set().union(*allowed_names))
