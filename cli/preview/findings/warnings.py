"""Finds warnings and notes about the changes to a tenant, such as the deletion of a namespace. No I/O.

For a new tenant, there are only two groups of warnings and notes. The first group is about the namespaces
that the tenant adopts. The second group is about settings for which the author of the spec needs an
additional RBAC verb.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from cli.preview.findings.finding import Finding, Gain, Rule
from cli.preview.findings.gained_access import gained_roles, gained_rules
from cli.preview.findings.gained_reach import gained_reach
from cli.preview.findings.gained_values import gained_values
from tenancy.admission.tenants import GRANT_ROLES, RELAX_POD_SECURITY
from tenancy.base.kinds import NAMESPACE, RESOURCE_QUOTA
from tenancy.base.labels import MANAGED_LABEL
from tenancy.base.manifest import Manifest, ObjectKey, Objects, is_deleting
from tenancy.base.quantity import quantity_value
from tenancy.changes import ObjectChange, Operation
from tenancy.desired import DesiredState
from tenancy.spec.settings import PodSecurity
from tenancy.spec.tenant import TenantModel

_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
# From the least strict to the strictest level. A namespace without the label has the level privileged.
_LEVELS: Final = [level.value for level in PodSecurity]
_MAX_NAMES: Final = 3


def change_warnings(
    desired: DesiredState, changes: Iterable[ObjectChange], before: Objects, was_protected: bool = False
) -> tuple[Finding, ...]:
    """Warnings and notes about a new or updated tenant.

    `before` contains the tenant's old objects. Objects from a git revision have no status, so their current
    usage is unknown. There are then no warnings about quotas below the current usage.
    """
    old = {key: manifest for key, manifest in before.items() if not is_deleting(manifest)}
    name, new = desired.tenant, desired.by_key
    findings = [
        *_namespace_findings(name, changes, old),
        *_quota_findings(name, old, new),
        *_merged(Rule.ACCESS_WIDENED, name, gained_roles(old, new)),
        *_merged(Rule.ACCESS_WIDENED, name, gained_rules(old, new)),
        *_merged(Rule.ISOLATION_WIDENED, name, gained_reach(old, new)),
        *_merged(Rule.POD_SECURITY_LOWERED, name, _lowered_levels(old, new)),
        *_merged(Rule.ALLOW_LIST_WIDENED, name, gained_values(old, new)),
    ]
    if was_protected and not desired.is_protected:
        message = "the tenant is no longer protected from deletion"
        findings.append(_finding(Rule.PROTECTION_REMOVED, name, message))
    return tuple(findings)


def new_tenant_warnings(tenant: TenantModel) -> Iterator[Finding]:
    """Warnings about fields in the spec of a new tenant that can give its author rights outside the tenant.

    To set these fields, a user needs an additional RBAC verb on Tenants (see `tenancy.admission.tenants`).
    """
    spec = tenant.spec
    if spec.pod_security not in (None, PodSecurity.RESTRICTED):
        message = (
            f"pods can use the Pod Security level {spec.pod_security.value} instead of restricted; to apply "
            f"this, you need the verb {RELAX_POD_SECURITY} on tenants"
        )
        yield _finding(Rule.POD_SECURITY_LOWERED, tenant.name, message)
    if spec.roles is not None:
        message = (
            "spec.roles grants rights on additional kinds; to apply this, you need the verb "
            f"{GRANT_ROLES} on tenants"
        )
        yield _finding(Rule.ACCESS_WIDENED, tenant.name, message)


def deletion_warning(tenant: str, changes: Iterable[ObjectChange]) -> Finding:
    """The warning about the deletion of a tenant. It says whether the tenant's namespaces are deleted too."""
    namespaces = [change for change in changes if change.kind == NAMESPACE.kind]
    names = _listed(sorted(change.name for change in namespaces))
    if not namespaces:
        message = "the tenant is deleted; it has no namespaces"
    elif namespaces[0].operation is Operation.RELEASE:
        message = (
            "the tenant is deleted; its namespaces stay with their workloads (deletionPolicy: Retain), but "
            f"lose their quotas, roles and network policies: {names}"
        )
    else:
        message = f"the tenant is deleted with its namespaces and everything in them: {names}"
    return _finding(Rule.TENANT_DELETED, tenant, message)


def _namespace_findings(tenant: str, changes: Iterable[ObjectChange], old: Objects) -> Iterator[Finding]:
    for change in changes:
        if change.kind != NAMESPACE.kind:
            continue
        key = change.key
        if change.operation is Operation.DELETE:
            message = f"namespace {key.name} is deleted with everything in it"
            yield _finding(Rule.NAMESPACE_REMOVED, tenant, message, key)
        elif change.operation is Operation.RELEASE:
            message = (
                f"namespace {key.name} is removed from the tenant; it stays with its workloads, but loses "
                "its quotas, roles and network policies"
            )
            yield _finding(Rule.NAMESPACE_RELEASED, tenant, message, key)
        elif key in old and _labels(old[key]).get(MANAGED_LABEL) != "true":
            message = f"the tenant adopts the existing namespace {key.name}"
            yield _finding(Rule.NAMESPACE_ADOPTED, tenant, message, key)


def _quota_findings(tenant: str, old: Objects, new: Objects) -> Iterator[Finding]:
    for key, quota in new.items():
        if key.kind != RESOURCE_QUOTA.kind or key not in old:
            continue
        old_limits = old[key]["spec"].get("hard") or {}
        usage = (old[key].get("status") or {}).get("used") or {}
        for resource, limit in quota["spec"]["hard"].items():
            old_limit, used = old_limits.get(resource), usage.get(resource)
            if old_limit is None or used is None:
                continue
            if quantity_value(limit) < min(quantity_value(old_limit), quantity_value(used)):
                message = (
                    f"{resource} in {key.namespace} is lowered from {old_limit} to {limit}, but {used} is "
                    "used: running workloads continue, new ones are rejected"
                )
                yield _finding(Rule.QUOTA_BELOW_USE, tenant, message, key)


def _lowered_levels(old: Objects, new: Objects) -> Iterator[Gain]:
    for key, namespace in new.items():
        if key.kind != NAMESPACE.kind or key not in old:
            continue
        old_level, level = (_labels(manifest).get(_ENFORCE, _LEVELS[0]) for manifest in (old[key], namespace))
        if old_level in _LEVELS and level in _LEVELS and _LEVELS.index(level) < _LEVELS.index(old_level):
            yield Gain(f"pod security is lowered from {old_level} to {level}", key)


def _merged(rule: Rule, tenant: str, gains: Iterable[Gain]) -> Iterator[Finding]:
    """Yield one finding for all gains that have the same text. It lists the namespaces of these gains."""
    gains_by_text: dict[str, list[Gain]] = {}
    for gain in gains:
        gains_by_text.setdefault(gain.text, []).append(gain)
    for text, equal_gains in gains_by_text.items():
        first = equal_gains[0]
        namespaces = list(dict.fromkeys(gain.key.namespace or gain.key.name for gain in equal_gains))
        finding = _finding(rule, tenant, f"{text}, in {_listed(namespaces)}", first.key)
        yield finding.model_copy(update={"subject": first.subject})


def _listed(names: list[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _labels(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("labels") or {}


def _finding(rule: Rule, tenant: str, message: str, key: ObjectKey | None = None) -> Finding:
    return Finding(rule=rule, tenant=tenant, object=str(key) if key else "", message=message)
