"""A tenant as people are shown it: the same rows for the page, `tenancy list` and `tenancy show`. Pure.

Made from the Tenant, its live objects and its history. In JSON the names are camelCase.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from stacks.history import Update
from tenancy.base.kinds import NAMESPACE, ROLE_BINDING
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.model import Model
from tenancy.base.names import PURPOSE_LABEL
from tenancy.changes import ObjectChange
from tenancy.objects.roles import role_name
from tenancy.spec.tenant import AccessRole
from tenancy.spec.tenant_status import ConditionType, Phase
from tenancy.usage import Amounts, namespace_amounts, total_amounts
from watcher.reconciler.work import BY_SPEC

Live = Mapping[ObjectKey, Manifest]

_ROLES: Final = {role_name(role): role for role in AccessRole}


class QuotaBar(Model):
    """How much of a quota is used. `ratio` is 0 where nothing is allowed."""

    resource: str
    used: str
    hard: str
    ratio: float


class InUse(Model):
    """What the pods really use, by the status; None where the cluster does not measure it."""

    cpu: str | None = None
    memory: str | None = None


class TenantRow(Model):
    """A line of the list."""

    name: str
    display_name: str = ""
    api_version: str
    plan: str
    phase: str
    # Why it is not ready, in a word and in a sentence. Empty where it is.
    reason: str = ""
    message: str = ""
    namespaces: int
    quotas: tuple[QuotaBar, ...]
    in_use: InUse = InUse()
    is_paused: bool = False
    is_cordoned: bool = False
    is_drifted: bool = False
    created: str
    last_update: dict[str, Any] | None = None


class NamespaceView(Model):
    name: str
    purpose: str = ""
    is_ready: bool
    quotas: tuple[QuotaBar, ...]


class AccessView(Model):
    """Who has which role, and where: as the RoleBindings in the cluster say."""

    kind: str
    name: str
    role: str
    namespaces: tuple[str, ...]


class TenantView(Model):
    """All of a tenant but its history."""

    row: TenantRow
    spec: dict[str, Any]
    conditions: tuple[dict[str, Any], ...]
    namespaces: tuple[NamespaceView, ...]
    access: tuple[AccessView, ...]
    # What is not as it should be just now.
    drift: tuple[ObjectChange, ...] = ()


class UpdateView(Model):
    """An entry of the history."""

    version: int
    operation: str
    cause: str
    # Who wrote the spec that brought it about, by the name of its field manager. A drift is nobody's.
    by: str = ""
    result: str
    started: str
    duration_s: float | None
    counts: dict[str, int]
    changes: tuple[ObjectChange, ...] = ()
    spec: dict[str, Any] | None = None


def tenant_row(tenant: Manifest, live: Live) -> TenantRow:
    metadata, spec, status = tenant["metadata"], tenant["spec"], tenant.get("status") or {}
    conditions = {found["type"]: found for found in status.get("conditions") or ()}
    ready = conditions.get(ConditionType.READY, {})
    is_ready, usage = ready.get("status") == "True", status.get("usage") or {}
    phase = Phase.TERMINATING if "deletionTimestamp" in metadata else status.get("phase", Phase.PENDING)
    return TenantRow(
        name=metadata["name"],
        display_name=spec.get("displayName") or "",
        api_version=tenant["apiVersion"],
        plan=spec["plan"],
        phase=phase,
        reason="" if is_ready else ready.get("reason", ""),
        message="" if is_ready else ready.get("message", ""),
        namespaces=status.get("namespaceCount") or 0,
        quotas=_bars(total_amounts(namespace_amounts(live).values())),
        in_use=InUse(cpu=usage.get("cpu"), memory=usage.get("memory")),
        is_paused=bool(spec.get("paused")),
        is_cordoned=bool(spec.get("cordoned")),
        is_drifted=conditions.get(ConditionType.DRIFTED, {}).get("status") == "True",
        created=metadata["creationTimestamp"],
        last_update=status.get("lastUpdate"),
    )


def tenant_view(tenant: Manifest, live: Live, drift: Iterable[ObjectChange] = ()) -> TenantView:
    status = tenant.get("status") or {}
    known = status.get("namespaceStatus") or {}
    homes = {key.name: manifest for key, manifest in live.items() if key.kind == NAMESPACE.kind}
    amounts = namespace_amounts(live)
    namespaces = [
        NamespaceView(
            name=name,
            purpose=((homes.get(name) or {"metadata": {}})["metadata"].get("labels") or {}).get(
                PURPOSE_LABEL, ""
            ),
            is_ready=bool((known.get(name) or {}).get("ready")) and name in homes,
            quotas=_bars(amounts.get(name, {})),
        )
        for name in sorted({*known, *homes})
    ]
    return TenantView(
        row=tenant_row(tenant, live),
        spec=tenant["spec"],
        conditions=tuple(status.get("conditions") or ()),
        namespaces=tuple(namespaces),
        access=tuple(_access(live)),
        drift=tuple(drift),
    )


def update_view(update: Update) -> UpdateView:
    record = update.record
    return UpdateView(
        version=update.version,
        operation=update.operation,
        cause=update.cause,
        by=record.written_by if record and update.cause.startswith(BY_SPEC) else "",
        result=update.result,
        started=update.started.isoformat(),
        duration_s=update.duration_s,
        counts=dict(update.counts),
        changes=record.changes if record else (),
        spec=record.spec if record else None,
    )


def _bars(amounts: Amounts) -> tuple[QuotaBar, ...]:
    return tuple(
        QuotaBar(resource=resource, used=amount.used, hard=amount.hard, ratio=amount.ratio)
        for resource, amount in amounts.items()
    )


def _access(live: Live) -> list[AccessView]:
    places: dict[tuple[str, str, str], list[str]] = {}
    for key, binding in live.items():
        if key.kind != ROLE_BINDING.kind or key.name not in _ROLES:
            continue
        for subject in binding.get("subjects") or ():
            home = f"{subject['namespace']}/" if subject.get("namespace") else ""
            who = (subject["kind"], home + subject["name"], _ROLES[key.name].value)
            places.setdefault(who, []).append(key.namespace)
    return [
        AccessView(kind=kind, name=name, role=role, namespaces=tuple(sorted(found)))
        for (kind, name, role), found in sorted(places.items())
    ]
