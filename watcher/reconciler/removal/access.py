"""Removes subjects from the RoleBindings that users have created in a tenant's namespaces.

The admin of a tenant can create a RoleBinding for themselves. If the admin is later removed from the Tenant's
spec, this RoleBinding would still give the admin access.
"""

from collections.abc import Iterable, Set

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.events import NORMAL, record_event
from tenancy.base.kinds import ROLE_BINDING
from tenancy.base.labels import MANAGED_LABEL
from tenancy.base.manifest import Manifest, Objects, object_key
from tenancy.base.reasons import Reason
from tenancy.desired import DesiredState
from tenancy.objects.subjects import Subject, binding_subjects, removed_subjects

log = structlog.get_logger(__name__)


def remove_access(cluster: Cluster, tenant: Manifest, desired: DesiredState, live: Objects) -> bool:
    """Remove subjects that are no longer in the spec from RoleBindings in the tenant's namespaces.

    The function changes only RoleBindings that users have created. It skips RoleBindings that the platform
    manages, because Pulumi or a repair changes them. `live` are the tenant's managed objects before the
    Pulumi update. Returns whether a RoleBinding was changed or deleted. Raises ClusterError if the API server
    rejects a change.
    """
    subjects = removed_subjects(tenant, desired.subjects, desired.namespaces, live)
    if not subjects:
        return False
    changes: list[str] = []
    for namespace in desired.namespaces:
        for binding in cluster.list(ROLE_BINDING, namespace=namespace)[0]:
            named = binding_subjects(binding) & subjects
            if named and not _is_managed(binding):
                _remove_from(cluster, binding, named)
                changes.append(f"{object_key(binding)} ({', '.join(map(str, sorted(named)))})")
    if changes:
        name = tenant["metadata"]["name"]
        log.info("access removed", tenant=name, bindings=changes)
        message = (
            f"subjects are no longer in the spec, and were removed from {'; '.join(changes)}. Other "
            f"RoleBindings and tokens may still give access; to list them, run: tenancy show {name}"
        )
        record_event(cluster, tenant, NORMAL, Reason.ACCESS_REMOVED, message)
    return bool(changes)


def delete_bindings(cluster: Cluster, namespaces: Iterable[str], *, is_managed_only: bool) -> None:
    """Delete all RoleBindings in the namespaces.

    If `is_managed_only` is true, delete only the RoleBindings that the platform manages.
    """
    for namespace in namespaces:
        for binding in cluster.list(ROLE_BINDING, namespace=namespace)[0]:
            if _is_managed(binding) or not is_managed_only:
                _delete(cluster, binding)


def _remove_from(cluster: Cluster, binding: Manifest, subjects: Set[Subject]) -> None:
    """Remove the subjects from a RoleBinding. Delete the RoleBinding if it would have no subjects left.

    RBAC lets the watcher change a RoleBinding only if the RoleBinding refers to one of the three Roles that
    the platform creates. Other RoleBindings are deleted, even if they have further subjects.
    """
    metadata = binding["metadata"]
    left = [entry for entry in binding["subjects"] if not binding_subjects({"subjects": [entry]}) & subjects]
    if left:
        change = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "subjects": left}
        try:
            cluster.patch(ROLE_BINDING, metadata["name"], change, namespace=metadata["namespace"])
            return
        except ClusterError as error:
            if not error.is_forbidden:
                raise
    _delete(cluster, binding)


def _delete(cluster: Cluster, binding: Manifest) -> None:
    """Delete a RoleBinding, and remove its finalizers. It gives access until the finalizers are removed."""
    metadata = binding["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    cluster.delete(ROLE_BINDING, name, namespace, metadata["uid"])
    if metadata.get("finalizers"):
        change = {"metadata": {"uid": metadata["uid"], "finalizers": None}}
        try:
            cluster.patch(ROLE_BINDING, name, change, namespace=namespace)
        except ClusterError as error:
            if error.status not in (404, 409):
                raise


def _is_managed(binding: Manifest) -> bool:
    return (binding["metadata"].get("labels") or {}).get(MANAGED_LABEL) == "true"
