"""Limits on the size of the objects that a tenant's users write.

All tenants share etcd, which holds a few gigabytes. `object_counts` limits the number of objects.
"""

from typing import Final

# The maximum size of an object in bytes, by the content of its kind: data, a pod template, or neither.
DATA_SIZE: Final = 64 * 1024
TEMPLATE_SIZE: Final = 32 * 1024
OBJECT_SIZE: Final = 16 * 1024
# Resources of other API groups than the core group have the format RESOURCE.GROUP.
DATA_RESOURCES: Final = ("configmaps", "secrets")
TEMPLATE_RESOURCES: Final = (
    "pods",
    "podtemplates",
    "replicationcontrollers",
    "controllerrevisions.apps",
    "daemonsets.apps",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "cronjobs.batch",
    "jobs.batch",
)


def size_limit(resource: str) -> int:
    """The maximum size of an object in bytes. `resource` has the format RESOURCE or RESOURCE.GROUP."""
    if resource in DATA_RESOURCES:
        return DATA_SIZE
    return TEMPLATE_SIZE if resource in TEMPLATE_RESOURCES else OBJECT_SIZE
