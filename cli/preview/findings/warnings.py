"""What is destructive, or lets somebody do more, in the changes of one tenant. Pure.

Previews call it with what `changes` found. A tenant that is new takes nothing from anybody: it has no
warnings, but for what it does to namespaces that it adopts.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from cli.preview.findings.finding import Finding, Gain, Objects, Rule
from cli.preview.findings.gained_access import gained_roles, gained_rules
from cli.preview.findings.gained_reach import gained_reach
from tenancy.base.kinds import NAMESPACE, RESOURCE_QUOTA
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.names import MANAGED_LABEL
from tenancy.base.quantity import quantity_value
from tenancy.changes import ObjectChange, Operation
from tenancy.desired import DesiredState
from tenancy.spec.settings import PodSecurity

_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
# From the least strict to the most; a namespace without a level is privileged.
_LEVELS: Final = [level.value for level in PodSecurity]
_SHOWN: Final = 3


def change_warnings(
    desired: DesiredState, changes: Iterable[ObjectChange], before: Objects, was_protected: bool = False
) -> tuple[Finding, ...]:
    """About a tenant that stays. `before` is what it changes from, with the status where that is live."""
    there = {key: found for key, found in before.items() if "deletionTimestamp" not in found["metadata"]}
    name, after = desired.tenant, desired.by_key
    found = [
        *_namespaces(name, changes, there),
        *_quotas(name, after, there),
        *_together(Rule.ACCESS_WIDENED, name, gained_roles(there, after)),
        *_together(Rule.ACCESS_WIDENED, name, gained_rules(there, after)),
        *_together(Rule.ISOLATION_WIDENED, name, gained_reach(there, after)),
        *_together(Rule.POD_SECURITY_LOWERED, name, _lowered_levels(there, after)),
    ]
    if was_protected and not desired.is_protected:
        found.append(_finding(Rule.PROTECTION_REMOVED, name, "the tenant is no longer protected"))
    return tuple(found)


def deletion_warning(tenant: str, changes: Iterable[ObjectChange]) -> Finding:
    """About a tenant that goes."""
    homes = [change for change in changes if change.kind == NAMESPACE.kind]
    names = _listed(sorted(home.name for home in homes))
    if not homes:
        fate = "it has no namespaces"
    elif homes[0].operation is Operation.RELEASE:
        fate = f"what it has in {names} stays (deletionPolicy: Retain), without quotas, roles and walls"
    else:
        fate = f"with everything in {names}"
    return _finding(Rule.TENANT_DELETED, tenant, f"the tenant is deleted: {fate}")


def _namespaces(tenant: str, changes: Iterable[ObjectChange], before: Objects) -> Iterator[Finding]:
    for change in changes:
        if change.kind != NAMESPACE.kind:
            continue
        key = change.key
        if change.operation is Operation.DELETE:
            told = f"namespace {key.name} is deleted with everything in it"
            yield _finding(Rule.NAMESPACE_REMOVED, tenant, told, key)
        elif change.operation is Operation.RELEASE:
            told = f"namespace {key.name} leaves the tenant and stays, without quotas, roles and walls"
            yield _finding(Rule.NAMESPACE_RELEASED, tenant, told, key)
        elif key in before and _labels(before[key]).get(MANAGED_LABEL) != "true":
            told = f"namespace {key.name}, which exists, becomes the tenant's"
            yield _finding(Rule.NAMESPACE_ADOPTED, tenant, told, key)


def _quotas(tenant: str, after: Objects, before: Objects) -> Iterator[Finding]:
    for key, quota in after.items():
        if key.kind != RESOURCE_QUOTA.kind or key not in before:
            continue
        old = before[key]["spec"].get("hard") or {}
        used = (before[key].get("status") or {}).get("used") or {}
        for resource, limit in quota["spec"]["hard"].items():
            was, use = old.get(resource), used.get(resource)
            if was is None or use is None:
                continue
            if quantity_value(limit) < quantity_value(was) and quantity_value(limit) < quantity_value(use):
                told = (
                    f"{resource} in {key.namespace} is lowered from {was} to {limit}, but {use} is used: "
                    "what runs goes on, nothing new starts"
                )
                yield _finding(Rule.QUOTA_BELOW_USE, tenant, told, key)


def _lowered_levels(before: Objects, after: Objects) -> Iterator[Gain]:
    for key, home in after.items():
        if key.kind != NAMESPACE.kind or key not in before:
            continue
        was, level = (_labels(found).get(_ENFORCE, _LEVELS[0]) for found in (before[key], home))
        if was in _LEVELS and level in _LEVELS and _LEVELS.index(level) < _LEVELS.index(was):
            yield Gain(f"pod security is lowered from {was} to {level}", key)


def _together(rule: Rule, tenant: str, gains: Iterable[Gain]) -> Iterator[Finding]:
    """The same gain in several namespaces is told once."""
    keys: dict[str, list[ObjectKey]] = {}
    for gain in gains:
        keys.setdefault(gain.told, []).append(gain.key)
    for told, found in keys.items():
        homes = list(dict.fromkeys(key.namespace or key.name for key in found))
        yield _finding(rule, tenant, f"{told}, in {_listed(homes)}", found[0])


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _labels(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("labels") or {}


def _finding(rule: Rule, tenant: str, message: str, key: ObjectKey | None = None) -> Finding:
    return Finding(rule=rule, tenant=tenant, object=str(key) if key else "", message=message)
