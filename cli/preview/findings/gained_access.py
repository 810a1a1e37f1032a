"""Finds permissions that users, groups and service accounts have only in the new state of a tenant. No I/O.

The RBAC rules of a Role are split into single permissions before the comparison. So a rule that is only split
in two, or moved within the Role, does not count as a new permission.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, NamedTuple

from cli.preview.findings.finding import Gain
from tenancy.base.kinds import ROLE, ROLE_BINDING
from tenancy.base.manifest import Manifest, ObjectKey, Objects
from tenancy.objects.roles import role_name
from tenancy.spec.access import AccessRole

# From the fewest permissions to the most.
_ROLES: Final = (AccessRole.VIEWER, AccessRole.OPERATOR, AccessRole.ADMIN)
_RANKS: Final = {role_name(role): rank for rank, role in enumerate(_ROLES, 1)}


class Permission(NamedTuple):
    """The permission to use one verb on one resource. An empty `name` means all objects of the resource."""

    group: str
    resource: str
    name: str
    verb: str


def gained_roles(before: Objects, after: Objects) -> Iterator[Gain]:
    """Yield a gain for each RoleBinding that gives a subject a role with more permissions than before.

    A role for a new subject is a gain too. A tenant without old RoleBindings has no gains.
    """
    old_namespaces = {key.namespace for key in before if key.kind == ROLE_BINDING.kind}
    if not old_namespaces:
        return
    old_ranks = {(namespace, subject): rank for namespace, subject, rank, _ in _bindings(before)}
    highest_ranks: dict[str, int] = {}
    for (_, subject), rank in old_ranks.items():
        highest_ranks[subject] = max(rank, highest_ranks.get(subject, 0))
    for namespace, subject, rank, key in _bindings(after):
        # In a new namespace, a role is not a gain if the subject had the role in another namespace before.
        is_old = namespace in old_namespaces
        old_rank = old_ranks.get((namespace, subject), 0) if is_old else highest_ranks.get(subject, 0)
        if rank > old_rank:
            was = f", was {_ROLES[old_rank - 1]}" if old_rank else ""
            yield Gain(f"{subject} becomes {_ROLES[rank - 1]}{was}", key, subject)


def gained_rules(before: Objects, after: Objects) -> Iterator[Gain]:
    """Yield a gain for each Role and resource for which the Role allows more verbs than before.

    New Roles are ignored.
    """
    for key, role in after.items():
        if key.kind != ROLE.kind or key not in before:
            continue
        old_permissions = set(_permissions(before[key]))
        gained_verbs: dict[str, list[str]] = {}
        for permission in dict.fromkeys(_permissions(role)):
            if not any(_covers(old, permission) for old in old_permissions):
                gained_verbs.setdefault(_resource_text(permission), []).append(permission.verb)
        for resource, verbs in gained_verbs.items():
            yield Gain(f"role {key.name} may {', '.join(verbs)} {resource}", key)


def _bindings(objects: Objects) -> Iterator[tuple[str, str, int, ObjectKey]]:
    """The namespace, subject, rank and key of each binding, with the lowest rank first.

    The rank is 1 for viewer, 2 for operator, 3 for admin, and 0 for other roles. A dict that is built in this
    order keeps the highest rank of each subject.
    """
    bindings = [
        (key.namespace, _subject_text(subject, key.namespace), _RANKS.get(binding["roleRef"]["name"], 0), key)
        for key, binding in objects.items()
        if key.kind == ROLE_BINDING.kind
        for subject in binding.get("subjects") or ()
    ]
    return iter(sorted(bindings, key=lambda binding: binding[2]))


def _subject_text(subject: Mapping[str, str], namespace: str) -> str:
    """The kind and name of the subject, such as `User alice`.

    `namespace` is the namespace of the binding. If a service account is in another namespace, the text also
    contains the namespace of the service account.
    """
    account_namespace = subject.get("namespace", "")
    prefix = f"{account_namespace}/" if account_namespace and account_namespace != namespace else ""
    return f"{subject['kind']} {prefix}{subject['name']}"


def _permissions(role: Manifest) -> Iterator[Permission]:
    for rule in role.get("rules") or ():
        names = rule.get("resourceNames") or [""]
        groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
        yield from (Permission(*part) for part in product(groups, resources, names, rule.get("verbs") or ()))


def _covers(old: Permission, new: Permission) -> bool:
    pairs = ((old.group, new.group), (old.resource, new.resource), (old.verb, new.verb))
    return all(old_value in (new_value, "*") for old_value, new_value in pairs) and old.name in ("", new.name)


def _resource_text(permission: Permission) -> str:
    group = f".{permission.group}" if permission.group else ""
    return f"{permission.resource}{group}" + (f" {permission.name}" if permission.name else "")
