"""Finds the objects whose finalizers block the deletion of a tenant's namespaces."""

import json
import re
from collections.abc import Iterator
from typing import Final

from cli.doctor.finding import CheckResult, failed
from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.tenants import live_namespaces
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest, is_deleting

# In the conditions of a terminating namespace, Kubernetes lists the resources that still exist, such as
# `pods. has 1 resource instances`. The name of the API group follows the first dot.
_LEFT: Final = re.compile(r"([a-z0-9]+)\.([a-z0-9.-]*) has \d+ resource instances")
_NO_FINALIZERS: Final = json.dumps({"metadata": {"finalizers": None}})


def blocked_findings(cluster: Cluster, subject: str, tenant: Manifest) -> Iterator[CheckResult]:
    """One failed result per object whose finalizers block the deletion of a namespace of the tenant.

    The fix in the result is a kubectl command that removes the finalizers of the object.
    """
    for name, namespace in live_namespaces(cluster, tenant).items():
        conditions = (namespace.get("status") or {}).get("conditions") or ()
        text = " ".join(condition["message"] for condition in conditions if is_deleting(namespace))
        # Several conditions can list the same resource.
        for resource, group in dict.fromkeys(_LEFT.findall(text)):
            for blocker in _objects(cluster, resource, group, name):
                finalizers = blocker["metadata"].get("finalizers")
                if not finalizers:
                    continue
                full_name = f"{resource}.{group}" if group else resource
                block = f"{full_name}/{blocker['metadata']['name']} in namespace {name}"
                message = (
                    f"{block} blocks the deletion with finalizers {', '.join(finalizers)}. If the controller "
                    "of a finalizer still runs, wait for it. Otherwise, remove the finalizers"
                )
                fix = (
                    f"kubectl -n {name} patch {full_name} {blocker['metadata']['name']} --type=merge "
                    f"-p '{_NO_FINALIZERS}'"
                )
                yield failed(subject, message, fix)


def _objects(cluster: Cluster, resource: str, group: str, namespace: str) -> list[Manifest]:
    """The objects of a resource, such as `pods`, in the namespace.

    Empty if the user cannot list them, or if the cluster no longer serves the resource.
    """
    try:
        kind = Kind(cluster.api_version(group), "", resource)
        return cluster.list(kind, namespace=namespace, is_metadata_only=True)[0]
    except ClusterError as error:
        if error.is_refusal or error.status == 404:
            return []
        raise
