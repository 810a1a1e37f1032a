"""The data that the web page, `tenancy list` and `tenancy show` display. No I/O.

The functions compute the data from the Tenant and its live objects. Field names in JSON are camelCase.
"""

from collections.abc import Container
from typing import Any

from tenancy.base.kinds import NAMESPACE, ROLE_BINDING
from tenancy.base.labels import PURPOSE_LABEL
from tenancy.base.manifest import Manifest, Objects, is_deleting
from tenancy.base.model import Model
from tenancy.changes import Differences, ObjectChange
from tenancy.spec.tenant_status import ConditionType, Phase, is_spec_applied
from tenancy.usage import Amounts, namespace_amounts, total_amounts


class QuotaBar(Model):
    """The used amount and the hard limit of one resource. `ratio` is `used` / `hard`, or 0 if `hard` is 0."""

    resource: str
    used: str
    hard: str
    ratio: float


class InUse(Model):
    """The CPU and memory that the pods use, as measured by the metrics API. None if the value is unknown."""

    cpu: str | None = None
    memory: str | None = None


class TenantRow(Model):
    """A row in the list of tenants."""

    name: str
    display_name: str = ""
    api_version: str
    plan: str
    phase: str
    # The reason and message of the condition Ready. Both are empty if the condition is true.
    reason: str = ""
    message: str = ""
    namespaces: int
    quotas: tuple[QuotaBar, ...]
    in_use: InUse = InUse()
    is_paused: bool = False
    is_cordoned: bool = False
    # Whether the newest spec is applied. For example, the spec of a paused tenant is stored, but not applied.
    is_applied: bool = True
    # Whether somebody changed or deleted objects of the tenant, and the watcher has not repaired them.
    is_drifted: bool = False
    created: str
    last_update: dict[str, Any] | None = None

    @property
    def is_held_back(self) -> bool:
        """Whether the newest spec is not applied, because the tenant is paused or has failed.

        False if the Tenant is being deleted, because then the watcher no longer applies the spec.
        """
        is_held = self.is_paused or self.phase == Phase.FAILED
        return not self.is_applied and is_held and self.phase != Phase.TERMINATING


class NamespaceView(Model):
    name: str
    purpose: str = ""
    is_ready: bool
    quotas: tuple[QuotaBar, ...]


class AccessView(Model):
    """A subject (User, Group or ServiceAccount), its role, and the namespaces in which it has the role.

    The data comes from the live RoleBindings.
    """

    kind: str
    name: str
    role: str
    namespaces: tuple[str, ...]


class TenantView(Model):
    """All data of one tenant, except its history."""

    row: TenantRow
    spec: dict[str, Any]
    conditions: tuple[dict[str, Any], ...]
    namespaces: tuple[NamespaceView, ...]
    access: tuple[AccessView, ...]
    # See `Differences`. A value is None if it is unknown.
    drift: tuple[ObjectChange, ...] | None
    pending_changes: tuple[ObjectChange, ...] | None


def tenant_row(tenant: Manifest, live: Objects) -> TenantRow:
    # An older CRD may have accepted the Tenant, so fields can be missing or have other types.
    metadata, spec, status = tenant["metadata"], tenant.get("spec") or {}, tenant.get("status") or {}
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    ready = conditions.get(ConditionType.READY, {})
    is_ready, usage = ready.get("status") == "True", status.get("usage") or {}
    phase = Phase.TERMINATING if is_deleting(tenant) else status.get("phase", Phase.PENDING)
    return TenantRow(
        name=metadata["name"],
        display_name=str(spec.get("displayName") or ""),
        api_version=tenant["apiVersion"],
        plan=str(spec.get("plan") or ""),
        phase=phase,
        reason="" if is_ready else ready.get("reason", ""),
        message="" if is_ready else ready.get("message", ""),
        namespaces=status.get("namespaceCount") or 0,
        quotas=_bars(total_amounts(namespace_amounts(live).values())),
        in_use=InUse(cpu=usage.get("cpu"), memory=usage.get("memory")),
        is_paused=bool(spec.get("paused")),
        is_cordoned=bool(spec.get("cordoned")),
        is_applied=is_spec_applied(tenant),
        is_drifted=conditions.get(ConditionType.DRIFTED, {}).get("status") == "True",
        created=metadata["creationTimestamp"],
        last_update=status.get("lastUpdate"),
    )


def tenant_view(
    tenant: Manifest, live: Objects, differences: Differences, unreadable: Container[str] = ()
) -> TenantView:
    """The view of a tenant. `live` are the tenant's live objects.

    `unreadable` are kinds that could not be read, such as `Namespace`. `live` contains no objects of these
    kinds.
    """
    status = tenant.get("status") or {}
    known = status.get("namespaceStatus") or {}
    live_namespaces = {key.name: manifest for key, manifest in live.items() if key.kind == NAMESPACE.kind}
    amounts = namespace_amounts(live)
    namespaces = [
        NamespaceView(
            name=name,
            purpose=_purpose(live_namespaces.get(name)),
            is_ready=bool((known.get(name) or {}).get("ready"))
            and (name in live_namespaces or NAMESPACE.kind in unreadable),
            quotas=_bars(amounts.get(name, {})),
        )
        for name in sorted({*known, *live_namespaces})
    ]
    return TenantView(
        row=tenant_row(tenant, live),
        spec=tenant.get("spec") or {},
        conditions=tuple(status.get("conditions") or ()),
        namespaces=tuple(namespaces),
        access=tuple(_access(live)),
        drift=differences.drift,
        pending_changes=differences.pending_changes,
    )


def _purpose(namespace: Manifest | None) -> str:
    labels = (namespace or {"metadata": {}})["metadata"].get("labels") or {}
    purpose: str = labels.get(PURPOSE_LABEL, "")
    return purpose


def _bars(amounts: Amounts) -> tuple[QuotaBar, ...]:
    return tuple(
        QuotaBar(resource=resource, used=amount.used, hard=amount.hard, ratio=amount.ratio)
        for resource, amount in amounts.items()
    )


def _access(live: Objects) -> list[AccessView]:
    # These modules import the models of the spec, which takes longer than the rest of `tenancy list`.
    from tenancy.objects.roles import role_name
    from tenancy.spec.access import AccessRole

    roles = {role_name(role): role for role in AccessRole}
    namespaces: dict[tuple[str, str, str], list[str]] = {}
    for key, binding in live.items():
        if key.kind != ROLE_BINDING.kind or key.name not in roles:
            continue
        for subject in binding.get("subjects") or ():
            prefix = f"{subject['namespace']}/" if subject.get("namespace") else ""
            access = (subject["kind"], prefix + subject["name"], roles[key.name].value)
            namespaces.setdefault(access, []).append(key.namespace)
    return [
        AccessView(kind=kind, name=name, role=role, namespaces=tuple(sorted(names)))
        for (kind, name, role), names in sorted(namespaces.items())
    ]
