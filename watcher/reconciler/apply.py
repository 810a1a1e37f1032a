"""Runs `up` on a tenant's stack. The last run applies the desired state.

Two cases need an additional run before the last run:

- Quotas share a budget. The additional run lowers some quotas, so that the last run can raise other quotas.
- Namespaces are removed from the tenant but kept in the cluster. The additional run marks these namespaces as
  retained.
"""

from collections.abc import Callable
from dataclasses import replace

from cluster.client import Cluster
from cluster.tenants import leaving_namespaces, live_quotas
from stacks.result import StackResult
from stacks.stack import Stacks
from tenancy.base.manifest import Manifest
from tenancy.decision import check_quotas_in_use
from tenancy.desired import DesiredState
from tenancy.objects.namespace import with_managed_metadata_only
from tenancy.quota_transition import budget_step
from watcher.reconciler.last_applied import LastApplied
from watcher.reconciler.update_needed import MustWait, RunUpdate

# A function that runs `up`. Arguments: the state to apply, and the message for the stack's history.
Up = Callable[[DesiredState, str], StackResult]


def apply(
    cluster: Cluster,
    stacks: Stacks,
    applied: LastApplied,
    manifest: Manifest,
    desired: DesiredState,
    update: RunUpdate,
) -> StackResult:
    """Apply the desired state.

    Raises MustWait if the tenant has to wait. Raises Rejection, StackError or ClusterError if a step fails.
    """

    def up(step: DesiredState, message: str) -> StackResult:
        with applied.updating(step):
            return stacks.up(step, message, update.record, refresh=update.needs_refresh)

    if desired.retains:
        _mark_retained_namespaces(cluster, up, manifest, desired, update)
    if desired.has_budget:
        _lower_quotas(cluster, up, manifest, desired, update)
    return up(desired, update.message)


def _mark_retained_namespaces(
    cluster: Cluster, up: Up, manifest: Manifest, desired: DesiredState, update: RunUpdate
) -> None:
    """Mark namespaces as retained in the stack's state before they are removed from the Pulumi program.

    If a resource is removed from the program, Pulumi reads the resource's `retain_on_delete` from the stack's
    state. One change of the spec can set `deletionPolicy: Retain` and remove a namespace at the same time.
    The state then lacks the option `retain_on_delete`. Without this run, Pulumi would delete the namespace.
    """
    leaving = leaving_namespaces(cluster, manifest, desired)
    if not leaving:
        return
    step = _next_state(cluster, desired)
    marked = replace(step, manifests=(*step.manifests, *map(with_managed_metadata_only, leaving)))
    up(marked, f"{update.message}: marks namespaces to keep")


def _lower_quotas(
    cluster: Cluster, up: Up, manifest: Manifest, desired: DesiredState, update: RunUpdate
) -> None:
    """Lower some quotas before others are raised, so that the sum of all quotas never exceeds the budget.

    Raises MustWait if quotas cannot be raised yet, because terminating namespaces still use the budget.
    """
    step = _next_state(cluster, desired)
    if step is desired:
        return
    if (manifest.get("status") or {}).get("appliedDigest") != step.digest:
        up(step, f"{update.message}: lowers quotas first")
    if budget_step(desired, live_quotas(cluster, desired.tenant)) is not desired:
        raise MustWait("waiting for terminating namespaces to release their quota", step)


def _next_state(cluster: Cluster, desired: DesiredState) -> DesiredState:
    """The desired state, except that quotas that cannot be raised yet keep their current limits."""
    quotas = live_quotas(cluster, desired.tenant)
    check_quotas_in_use(desired, quotas)
    return budget_step(desired, quotas)
