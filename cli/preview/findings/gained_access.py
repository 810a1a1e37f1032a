"""The permissions that subjects gain between two states of a tenant. Pure.

Rules are compared by single permissions, so that moving or splitting a rule is not a gain.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, NamedTuple

from cli.preview.findings.finding import Gain
from tenancy.base.kinds import ROLE, ROLE_BINDING
from tenancy.base.manifest import Manifest, ObjectKey, Objects
from tenancy.objects.roles import role_name
from tenancy.spec.tenant import AccessRole

# From the fewest permissions to the most.
_ROLES: Final = (AccessRole.VIEWER, AccessRole.OPERATOR, AccessRole.ADMIN)
_RANKS: Final = {role_name(role): rank for rank, role in enumerate(_ROLES, 1)}


class Permission(NamedTuple):
    """One verb on one resource. An empty `name` means all objects of the resource."""

    group: str
    resource: str
    name: str
    verb: str


def gained_roles(before: Objects, after: Objects) -> Iterator[Gain]:
    """Subjects that get a higher role than before."""
    old_namespaces = {key.namespace for key in before if key.kind == ROLE_BINDING.kind}
    if not old_namespaces:
        return
    old_ranks = {(namespace, subject): rank for namespace, subject, rank, _ in _bindings(before)}
    highest_ranks: dict[str, int] = {}
    for (_, subject), rank in old_ranks.items():
        highest_ranks[subject] = max(rank, highest_ranks.get(subject, 0))
    for namespace, subject, rank, key in _bindings(after):
        # In a new namespace, a subject that has the role in another namespace gains nothing.
        is_old = namespace in old_namespaces
        old_rank = old_ranks.get((namespace, subject), 0) if is_old else highest_ranks.get(subject, 0)
        if rank > old_rank:
            was = f", was {_ROLES[old_rank - 1]}" if old_rank else ""
            yield Gain(f"{subject} becomes {_ROLES[rank - 1]}{was}", key, subject)


def gained_rules(before: Objects, after: Objects) -> Iterator[Gain]:
    """Roles that allow more than before."""
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
    """Namespace, subject, rank and object of each binding, sorted by rank: in a dict, the highest wins."""
    bindings = [
        (key.namespace, _subject_text(subject, key.namespace), _RANKS.get(binding["roleRef"]["name"], 0), key)
        for key, binding in objects.items()
        if key.kind == ROLE_BINDING.kind
        for subject in binding.get("subjects") or ()
    ]
    return iter(sorted(bindings, key=lambda binding: binding[2]))


def _subject_text(subject: Mapping[str, str], namespace: str) -> str:
    """The subject. A service account of the binding's own namespace has the same text in every namespace."""
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
