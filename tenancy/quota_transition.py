"""Changes the shares of a tenant's budget in steps. No I/O.

With `quotaScope: Tenant`, the tenant's quotas are a budget, and each namespace has a share of the budget. The
share is the limit in the namespace's ResourceQuota. The first step lowers limits. A later step raises limits.
So the sum of all limits stays within the budget.

Callers apply the state that `budget_step` returns. They repeat this with the new live quotas until
`budget_step` returns the desired state.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final, NamedTuple

from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.quantity import quantity_value
from tenancy.desired import DesiredState
from tenancy.objects.object_counts import OBJECT_COUNTS
from tenancy.objects.quotas import UNSPLIT_KEYS


class Limit(NamedTuple):
    """The limit of one resource in a live ResourceQuota."""

    # The limit in `spec.hard`.
    written: Decimal
    # The higher of the limits in `spec.hard` and `status.hard`. The API server enforces `status.hard`, which
    # follows `spec.hard` with a delay.
    in_force: Decimal
    # The limit in `spec.hard` as text.
    text: str


class Figure(NamedTuple):
    """The tenant's budget for one resource.

    The ResourceQuotas with the name `quota` contain the shares of the budget, one in each namespace.
    """

    quota: str
    resource: str


_NOTHING: Final = Limit(Decimal(0), Decimal(0), "0")

# The limits of one namespace, by quota name and resource.
Limits = Mapping[str, Mapping[str, Limit]]


def budget_step(desired: DesiredState, live: Mapping[ObjectKey, Manifest]) -> DesiredState:
    """The state to apply next. `live` are the tenant's live ResourceQuotas.

    Pulumi can change the quotas in any order. While Pulumi applies the state, the sum of the limits always
    stays within the budget. If raised limits of a resource could exceed its budget, this step only lowers
    limits of the resource. A later step raises the other limits.
    """
    if not desired.has_budget:
        return desired
    limits = _live_limits(live)
    waiting = _without_room(desired, limits)
    manifests = tuple(_lowered(manifest, waiting, limits) for manifest in desired.manifests)
    # Return `desired` itself if no limit has to wait. The sum can still exceed the budget until namespaces
    # that no longer belong to the tenant are deleted.
    return desired if manifests == desired.manifests else replace(desired, manifests=manifests)


def budget_problem(desired: DesiredState, live: Mapping[ObjectKey, Manifest]) -> str | None:
    """A message about the first namespace that uses more than its new, lower share of the budget.

    None if there is no such namespace. A share that does not decrease is not checked. The message ends with
    the number of further problems.
    """
    if not desired.has_budget:
        return None
    limits = _live_limits(live)
    problems = []
    for namespace, figure, share in _shares(desired):
        now = _limit(limits.get(namespace, {}), figure)
        used = _used(live, namespace, figure)
        is_lowered = now is not None and quantity_value(share) < now.written
        if is_lowered and used is not None and quantity_value(used) > quantity_value(share):
            problems.append(
                f"namespace {namespace} uses {used} of {figure.resource}, more than its new share {share} "
                f"in quota {figure.quota}: raise the budget or the namespace's weight, or reduce the usage"
            )
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return problems[0] + more if problems else None


def _without_room(desired: DesiredState, limits: Mapping[str, Limits]) -> set[Figure]:
    """The budgets that could be exceeded while the new limits are applied.

    During this time, each namespace has its old limit or its new limit. In the worst case, each namespace has
    the higher one of the two limits. If the sum of these higher limits is larger than the budget, the budget
    could be exceeded. The sum includes the limits of namespaces that no longer belong to the tenant.
    """
    budget: defaultdict[Figure, Decimal] = defaultdict(Decimal)
    highest: defaultdict[Figure, Decimal] = defaultdict(Decimal)
    wanted = set()
    for namespace, figure, share in _shares(desired):
        target, now = quantity_value(share), _limit(limits.get(namespace, {}), figure)
        wanted.add((namespace, figure.quota))
        budget[figure] += target
        highest[figure] += max(target, now.in_force) if now else target
    for namespace, quotas in limits.items():
        for figure in budget:
            is_leaving = namespace not in desired.namespaces or figure.quota in quotas
            if is_leaving and (namespace, figure.quota) not in wanted and (now := _limit(quotas, figure)):
                highest[figure] += now.in_force
    return {figure for figure in budget if highest[figure] > budget[figure]}


def _lowered(manifest: Manifest, waiting: set[Figure], limits: Mapping[str, Limits]) -> Manifest:
    """The object as the next step applies it.

    In a ResourceQuota, a limit keeps its live value if it must not increase yet. All other limits are the new
    shares. Objects of other kinds do not change. `waiting` is the result of `_without_room`.
    """
    key = object_key(manifest)
    if not _is_share(key):
        return manifest
    hard = {}
    for resource, share in manifest["spec"]["hard"].items():
        figure = Figure(key.name, resource)
        now = _limit(limits.get(key.namespace, {}), figure) or _NOTHING
        must_wait = figure in waiting and now.written < quantity_value(share)
        hard[resource] = now.text if must_wait else share
    return {**manifest, "spec": {**manifest["spec"], "hard": hard}}


def _shares(desired: DesiredState) -> Iterator[tuple[str, Figure, str]]:
    for key, manifest in desired.by_key.items():
        if _is_share(key):
            for resource, share in manifest["spec"]["hard"].items():
                if resource not in UNSPLIT_KEYS:
                    yield key.namespace, Figure(key.name, resource), share


def _is_share(key: ObjectKey) -> bool:
    """Whether the object is a ResourceQuota with shares of the budget.

    The ResourceQuota `tenant-object-counts` has no shares. Its limits are not a part of the budget.
    """
    return key.kind == "ResourceQuota" and key.name != OBJECT_COUNTS


def _live_limits(live: Mapping[ObjectKey, Manifest]) -> dict[str, Limits]:
    limits: defaultdict[str, dict[str, Mapping[str, Limit]]] = defaultdict(dict)
    for key, manifest in live.items():
        if _is_share(key):
            status = (manifest.get("status") or {}).get("hard") or {}
            limits[key.namespace][key.name] = {
                resource: Limit(
                    quantity_value(text),
                    max(quantity_value(text), quantity_value(status.get(resource, "0"))),
                    text,
                )
                for resource, text in (manifest["spec"].get("hard") or {}).items()
            }
    return dict(limits)


def _limit(quotas: Limits, figure: Figure) -> Limit | None:
    """The live limit of a resource in a quota.

    If this quota does not limit the resource yet, the result is the lowest limit of the resource in the other
    quotas of the namespace. None if no quota of the namespace limits the resource.
    """
    own = quotas.get(figure.quota, {}).get(figure.resource)
    others = [amounts[figure.resource] for amounts in quotas.values() if figure.resource in amounts]
    return own or min(others, default=None)


def _used(live: Mapping[ObjectKey, Manifest], namespace: str, figure: Figure) -> str | None:
    """The used amount of a resource, from the status of the namespace's ResourceQuotas.

    If the ResourceQuotas report different amounts, the result is the highest amount. None if no ResourceQuota
    reports an amount.
    """
    counts = [
        used[figure.resource]
        for key, manifest in live.items()
        if key.kind == "ResourceQuota"
        and key.namespace == namespace
        and figure.resource in (used := (manifest.get("status") or {}).get("used") or {})
    ]
    return max(counts, key=quantity_value, default=None)
