"""Applies the desired state of a tenant by running `pulumi up` on the tenant's stack.

Usually, one run is sufficient. In two cases, an additional run comes first:

- The tenant has a budget: a maximum for the sum of its ResourceQuotas. Some quotas must be lowered before
  others can be raised. The additional run lowers quotas, and the last run raises the other quotas.
- The tenant loses namespaces that must stay in the cluster. The additional run sets Pulumi's resource option
  `retain_on_delete` for these namespaces in the stack's state.
"""

from collections.abc import Callable
from dataclasses import replace

from cluster.client import Cluster
from cluster.live_objects import ManagedObjects
from cluster.tenants import leaving_namespaces, live_quotas
from stacks.result import StackResult
from stacks.stack import Stacks
from tenancy.base.manifest import Manifest, Objects
from tenancy.changes import object_changes
from tenancy.decision import check_quotas_in_use
from tenancy.desired import DesiredState
from tenancy.objects.namespace import with_managed_metadata_only
from tenancy.quota_transition import budget_step
from watcher.reconciler.last_applied import LastApplied
from watcher.reconciler.removal.access import remove_access
from watcher.reconciler.update_needed import MustWait, RunUpdate

# A function that runs `pulumi up`. Arguments: the state to apply, and the message of the Pulumi update.
Up = Callable[[DesiredState, str], StackResult]


def apply(
    cluster: Cluster,
    stacks: Stacks,
    applied: LastApplied,
    managed: ManagedObjects,
    manifest: Manifest,
    desired: DesiredState,
    update: RunUpdate,
) -> StackResult:
    """Apply the desired state, and remove the access of subjects that are no longer in the spec.

    `managed` contains the live objects of all tenants. Runs `pulumi up` up to three times. Each run is a
    separate update in the stack's history. Raises MustWait if the tenant has to wait for a change in the
    cluster. Raises Rejection, StackError or ClusterError if a run or a request fails.
    """
    # The tenant's objects before the next run of `pulumi up`.
    objects: Objects = managed.of(desired.tenant)
    live, record = objects, update.record

    def up(step: DesiredState, message: str) -> StackResult:
        nonlocal objects
        is_only_run = step is desired and objects is live
        changes = record.changes if is_only_run else object_changes(step, objects)
        step_record = record.model_copy(update={"changes": changes})
        with applied.updating(step):
            result = stacks.up(step, message, step_record, refresh=update.needs_refresh)
        objects = step.by_key
        return result

    if desired.retains:
        _mark_retained_namespaces(cluster, up, manifest, desired, update)
    if desired.has_budget:
        _lower_quotas(cluster, up, manifest, desired, update)
    result = up(desired, update.message)
    remove_access(cluster, manifest, desired, live)
    return result


def _mark_retained_namespaces(
    cluster: Cluster, up: Up, manifest: Manifest, desired: DesiredState, update: RunUpdate
) -> None:
    """Mark namespaces as retained in the stack's state before they are removed from the Pulumi program.

    If a resource is removed from the program, Pulumi reads the resource's option `retain_on_delete` from the
    stack's state. One change to the spec can set `deletionPolicy: Retain` and also remove a namespace. In
    this case, the state does not contain the option yet. Without this run, Pulumi would delete the namespace.
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

    Raises MustWait if quotas cannot be raised yet, because terminating namespaces still use a part of the
    budget.
    """
    step = _next_state(cluster, desired)
    if step is desired:
        return
    if (manifest.get("status") or {}).get("appliedDigest") != step.digest:
        up(step, f"{update.message}: lowers quotas first")
    if budget_step(desired, live_quotas(cluster, desired.tenant)) is not desired:
        raise MustWait(
            "waiting until terminating namespaces are deleted and their share of the quotas is free", step
        )


def _next_state(cluster: Cluster, desired: DesiredState) -> DesiredState:
    """The desired state, except that quotas which cannot be raised yet keep their current limits."""
    quotas = live_quotas(cluster, desired.tenant)
    check_quotas_in_use(desired, quotas)
    return budget_step(desired, quotas)
