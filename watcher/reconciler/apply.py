"""Bringing a tenant's stack up: once, or in steps where its quotas share a budget, or namespaces leave it
that are to stay."""

from collections.abc import Callable
from dataclasses import replace

from cluster.client import Cluster
from cluster.live_objects import is_ending
from cluster.tenants import live_namespaces, live_quotas
from stacks.result import StackResult
from stacks.stack import Stacks
from tenancy.base.errors import TenancyError
from tenancy.base.manifest import Manifest
from tenancy.desired import DesiredState
from tenancy.objects.namespace import with_managed_metadata_only
from tenancy.quota_transition import budget_problem, budget_step
from watcher.reconciler.last_applied import LastApplied
from watcher.reconciler.work import NamespaceEnding, Work


class QuotaInUse(TenancyError):
    """A namespace uses more than its new share of the budget."""

    reason = "QuotaInUse"


# Runs `up` with these objects and this message.
Up = Callable[[DesiredState, str], StackResult]


def apply(
    cluster: Cluster,
    stacks: Stacks,
    applied: LastApplied,
    tenant: Manifest,
    desired: DesiredState,
    work: Work,
) -> StackResult:
    def up(step: DesiredState, message: str) -> StackResult:
        with applied.updating(step):
            return stacks.up(step, message, work.record, refresh=work.needs_refresh)

    if desired.retains:
        _mark_what_stays(cluster, up, tenant, desired, work)
    if desired.has_budget:
        _make_room(cluster, up, tenant, desired, work)
    return up(desired, work.cause)


def leaving_namespaces(cluster: Cluster, tenant: Manifest, desired: DesiredState) -> list[Manifest]:
    """The namespaces that the tenant still has and no longer wants."""
    return [
        namespace
        for name, namespace in live_namespaces(cluster, tenant).items()
        if name not in desired.namespaces and not is_ending(namespace)
    ]


def _mark_what_stays(cluster: Cluster, up: Up, tenant: Manifest, desired: DesiredState, work: Work) -> None:
    """Pulumi goes by its state for what a program no longer has: a namespace that leaves in the same change
    that says `Retain` would be deleted. So it is recorded as one that stays before it leaves."""
    leaving = leaving_namespaces(cluster, tenant, desired)
    if not leaving:
        return
    step = _next_step(cluster, desired)
    marked = replace(step, manifests=(*step.manifests, *map(with_managed_metadata_only, leaving)))
    up(marked, f"{work.cause}: marks namespaces that stay")


def _make_room(cluster: Cluster, up: Up, tenant: Manifest, desired: DesiredState, work: Work) -> None:
    """Quotas are lowered before any is raised, so that their sum never passes the budget."""
    step = _next_step(cluster, desired)
    if step is desired:
        return
    if (tenant.get("status") or {}).get("appliedDigest") != step.digest:
        up(step, f"{work.cause}: lowers quotas first")
    if budget_step(desired, live_quotas(cluster, desired.tenant)) is not desired:
        raise NamespaceEnding("waiting until quota that is handed on is free: namespaces are ending", step)


def _next_step(cluster: Cluster, desired: DesiredState) -> DesiredState:
    quotas = live_quotas(cluster, desired.tenant)
    if problem := budget_problem(desired, quotas):
        raise QuotaInUse(problem)
    return budget_step(desired, quotas)
