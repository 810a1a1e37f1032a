"""Checks that `tenant-operator` and `tenant-viewer` have no permission that `tenant-admin` lacks."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from tenancy.objects.roles import ROLE_RULES, role_name
from tenancy.spec.access import AccessRole
from tenancy.spec.extra_role_rules import PolicyRule, RoleRules

# Permissions: (API group, resource) → verb → names of the objects to which the permission applies. An empty
# set of names means all objects.
Grants = dict[tuple[str, str], dict[str, frozenset[str]]]


def rules_beyond_admin(roles: RoleRules) -> Iterator[tuple[str, str]]:
    """The additional rules of operator and viewer that grant a permission which `tenant-admin` lacks.

    Each item is a pair: the path of the invalid field in `roles`, such as `viewer[0].verbs`, and a text about
    the problem.
    """
    admin_rules = [
        *ROLE_RULES[AccessRole.ADMIN],
        *(rule.model_dump(by_alias=True) for rule in roles.of("admin")),
    ]
    granted = _granted_names(admin_rules)
    for role in (AccessRole.OPERATOR, AccessRole.VIEWER):
        for index, rule in enumerate(roles.of(role.value)):
            if (excess := _first_excess(rule, granted)) is not None:
                field, problem = excess
                yield f"{role.value}[{index}].{field}", problem


def _granted_names(rules: Iterable[Mapping[str, Any]]) -> Grants:
    """The permissions that the rules grant."""
    granted: Grants = {}
    for rule in rules:
        names = frozenset(rule.get("resourceNames") or ())
        verbs = set(rule["verbs"])
        for group, resource in product(set(rule["apiGroups"]), set(rule["resources"])):
            by_verb = granted.setdefault((group, resource), {})
            for verb in verbs:
                known = by_verb.get(verb, names)
                # A rule without `resourceNames` applies to all objects.
                by_verb[verb] = known | names if known and names else frozenset()
    return granted


def _first_excess(rule: PolicyRule, granted: Grants) -> tuple[str, str] | None:
    """The first field of the rule that grants more than the admin has, and a description of the problem.

    None if the admin has all permissions that the rule grants. `granted` are the permissions of the admin.
    """
    names, verbs = frozenset(rule.resource_names), dict.fromkeys(rule.verbs)
    for group, resource in product(dict.fromkeys(rule.api_groups), dict.fromkeys(rule.resources)):
        target = f"{resource!r} in API group {group!r}"
        admin = role_name(AccessRole.ADMIN)
        advice = f"{admin} lacks this permission, so no other role can have it; add it to `admin` too"
        by_verb = granted.get((group, resource))
        if by_verb is None:
            return "resources", f"{target}: {advice}"
        for verb in verbs:
            if verb not in by_verb:
                return "verbs", f"{verb!r} on {target}: {advice}"
            allowed = by_verb[verb]
            if allowed and not (names and names <= allowed):
                return "resourceNames", f"{verb!r} on some objects of {target}: {advice}"
    return None
