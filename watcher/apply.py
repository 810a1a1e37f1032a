"""Bringing a tenant's stack up: once, or in steps where its quotas share a budget, or namespaces leave it
that are to stay."""

from dataclasses import replace

from stacks.result import StackResult
from stacks.stack import Stacks
from tenancy.budget import budget_problem, budget_step
from tenancy.desired import DesiredState
from tenancy.errors import TenancyError
from tenancy.kinds import NAMESPACE, RESOURCE_QUOTA
from tenancy.manifest import Manifest, ObjectKey, object_key
from tenancy.names import MANAGED_SELECTOR, TENANT_LABEL
from tenancy.namespace import as_it_stands
from watcher.cluster import Cluster
from watcher.managed import is_ending, tenant_of
from watcher.tenants import known_namespaces
from watcher.work import NamespaceEnding, Work


class QuotaInUse(TenancyError):
    """A namespace uses more than its new share of the budget."""

    reason = "QuotaInUse"


def apply(
    cluster: Cluster, stacks: Stacks, tenant: Manifest, desired: DesiredState, work: Work
) -> StackResult:
    if desired.retains:
        _mark_what_stays(cluster, stacks, tenant, desired, work)
    if desired.has_budget:
        _make_room(cluster, stacks, tenant, desired, work)
    return stacks.up(desired, work.cause, refresh=work.needs_refresh)


def leaving_namespaces(cluster: Cluster, tenant: Manifest, desired: DesiredState) -> list[Manifest]:
    """The namespaces that the tenant still has and no longer wants: by their label, or by its status."""
    labelled, _ = cluster.list(NAMESPACE, f"{MANAGED_SELECTOR},{TENANT_LABEL}={desired.tenant}")
    dropped = [name for name in known_namespaces(tenant) if name not in desired.namespaces]
    known = filter(None, (cluster.get(NAMESPACE, name) for name in dropped))
    found = {namespace["metadata"]["name"]: namespace for namespace in (*labelled, *known)}
    return [
        namespace
        for name, namespace in found.items()
        if name not in desired.namespaces
        and tenant_of(namespace) in ("", desired.tenant)
        and not is_ending(namespace)
    ]


def _mark_what_stays(
    cluster: Cluster, stacks: Stacks, tenant: Manifest, desired: DesiredState, work: Work
) -> None:
    """Pulumi goes by its state for what a program no longer has: a namespace that leaves in the same change
    that says `Retain` would be deleted. So it is recorded as one that stays before it leaves."""
    leaving = leaving_namespaces(cluster, tenant, desired)
    if not leaving:
        return
    quotas = live_quotas(cluster, desired.tenant)
    if problem := budget_problem(desired, quotas):
        raise QuotaInUse(problem)
    step = budget_step(desired, quotas)
    marked = replace(step, manifests=(*step.manifests, *map(as_it_stands, leaving)))
    stacks.up(marked, f"{work.cause}: marks namespaces that stay", refresh=work.needs_refresh)


def _make_room(cluster: Cluster, stacks: Stacks, tenant: Manifest, desired: DesiredState, work: Work) -> None:
    """Quotas are lowered before any is raised, so that their sum never passes the budget."""
    quotas = live_quotas(cluster, desired.tenant)
    if problem := budget_problem(desired, quotas):
        raise QuotaInUse(problem)
    step = budget_step(desired, quotas)
    if step is desired:
        return
    if (tenant.get("status") or {}).get("appliedDigest") != step.digest:
        stacks.up(step, f"{work.cause}: lowers quotas first", refresh=work.needs_refresh)
    if budget_step(desired, live_quotas(cluster, desired.tenant)) is not desired:
        raise NamespaceEnding("waiting until quota that is handed on is free: namespaces are ending", step)


def live_quotas(cluster: Cluster, tenant: str) -> dict[ObjectKey, Manifest]:
    """As they are at this moment: the watcher's own copy may lag behind."""
    found, _ = cluster.list(RESOURCE_QUOTA, f"{MANAGED_SELECTOR},{TENANT_LABEL}={tenant}")
    return {object_key(quota): quota for quota in found}
