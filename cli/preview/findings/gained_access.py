"""Who may do more than before: the rights in two states of a tenant compared. Pure.

Part of `warnings`. Rights are looked at one by one, so that moving or splitting rules is no change.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, NamedTuple

from cli.preview.findings.finding import Gain, Objects
from tenancy.base.kinds import ROLE, ROLE_BINDING
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.objects.roles import role_name
from tenancy.spec.tenant import AccessRole

# From the least to the most.
_ROLES: Final = (AccessRole.VIEWER, AccessRole.OPERATOR, AccessRole.ADMIN)
_RANKS: Final = {role_name(role): rank for rank, role in enumerate(_ROLES, 1)}


class Right(NamedTuple):
    """One verb on one resource."""

    group: str
    resource: str
    name: str
    verb: str


def gained_roles(before: Objects, after: Objects) -> Iterator[Gain]:
    """Subjects with a higher role than they had."""
    homes = {key.namespace for key in before if key.kind == ROLE_BINDING.kind}
    if not homes:
        return
    had = {(home, who): rank for home, who, rank, _ in _bindings(before)}
    best: dict[str, int] = {}
    for (_, who), rank in had.items():
        best[who] = max(rank, best.get(who, 0))
    for home, who, rank, key in _bindings(after):
        # In a namespace that is new, who had the role in another one gains nothing.
        known = had.get((home, who), 0) if home in homes else best.get(who, 0)
        if rank > known:
            was = f", was {_ROLES[known - 1]}" if known else ""
            yield Gain(f"{who} becomes {_ROLES[rank - 1]}{was}", key)


def gained_rules(before: Objects, after: Objects) -> Iterator[Gain]:
    """Roles that allow more than they did."""
    for key, role in after.items():
        if key.kind != ROLE.kind or key not in before:
            continue
        old = set(_rights(before[key]))
        gained: dict[str, list[str]] = {}
        for right in dict.fromkeys(_rights(role)):
            if not any(_covers(one, right) for one in old):
                gained.setdefault(_told_object(right), []).append(right.verb)
        for told, verbs in gained.items():
            yield Gain(f"role {key.name} may {', '.join(verbs)} {told}", key)


def _bindings(objects: Objects) -> Iterator[tuple[str, str, int, ObjectKey]]:
    """Namespace, subject and rank; of one subject the highest last."""
    found = [
        (key.namespace, _subject(subject, key.namespace), _RANKS.get(binding["roleRef"]["name"], 0), key)
        for key, binding in objects.items()
        if key.kind == ROLE_BINDING.kind
        for subject in binding.get("subjects") or ()
    ]
    return iter(sorted(found, key=lambda entry: entry[2]))


def _subject(subject: Mapping[str, str], namespace: str) -> str:
    """A service account of the namespace itself is the same one in each."""
    home = subject.get("namespace", "")
    prefix = f"{home}/" if home and home != namespace else ""
    return f"{subject['kind']} {prefix}{subject['name']}"


def _rights(role: Manifest) -> Iterator[Right]:
    for rule in role.get("rules") or ():
        names = rule.get("resourceNames") or [""]
        groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
        yield from (Right(*part) for part in product(groups, resources, names, rule.get("verbs") or ()))


def _covers(old: Right, new: Right) -> bool:
    pairs = ((old.group, new.group), (old.resource, new.resource), (old.verb, new.verb))
    return all(mine in (other, "*") for mine, other in pairs) and old.name in ("", new.name)


def _told_object(right: Right) -> str:
    group = f".{right.group}" if right.group else ""
    return f"{right.resource}{group}" + (f" {right.name}" if right.name else "")
