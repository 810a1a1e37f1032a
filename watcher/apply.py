"""Bringing a tenant's stack up: once, or in two steps where its quotas share a budget."""

from stacks.result import StackResult
from stacks.stack import Stacks
from tenancy.budget import budget_problem, budget_step
from tenancy.desired import DesiredState
from tenancy.errors import TenancyError
from tenancy.kinds import RESOURCE_QUOTA
from tenancy.manifest import Manifest, ObjectKey, object_key
from tenancy.names import MANAGED_SELECTOR, TENANT_LABEL
from watcher.cluster import Cluster
from watcher.work import NamespaceEnding, Work


class QuotaInUse(TenancyError):
    """A namespace uses more than its new share of the budget."""

    reason = "QuotaInUse"


def apply(
    cluster: Cluster, stacks: Stacks, tenant: Manifest, desired: DesiredState, work: Work
) -> StackResult:
    if desired.has_budget:
        _make_room(cluster, stacks, tenant, desired, work)
    return stacks.up(desired, work.cause, refresh=work.needs_refresh)


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
