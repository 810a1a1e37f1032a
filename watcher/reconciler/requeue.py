"""Which tenants a change of a managed object concerns. Pure."""

from collections.abc import Mapping

from cluster.live_objects import is_ending, tenant_of
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.desired import DesiredState
from tenancy.drift import object_drift


def tenants_to_requeue(
    desired_states: Mapping[str, DesiredState], before: Manifest | None, after: Manifest | None
) -> set[str]:
    """The tenants to reconcile after a change. The watcher's own changes match the desired state: none."""
    return {
        name
        for manifest in (before, after)
        if manifest
        and (name := tenant_of(manifest))
        and _concerns(desired_states.get(name), object_key(manifest), after)
    }


def _concerns(desired: DesiredState | None, key: ObjectKey, after: Manifest | None) -> bool:
    if desired is None:
        return key.kind == NAMESPACE.kind and after is None
    if key not in desired.by_key:
        return after is not None or key.kind == NAMESPACE.kind
    return is_ending(after) or object_drift(desired.by_key[key], after) is not None
