"""Limits on the number and the size of the objects that a tenant's users can create.

All tenants share etcd, which holds a few gigabytes. The quotas of plans limit only some kinds. So each
namespace also gets a limit for every other kind that a Role of the tenant can write. A plan or a tenant can
set another limit in its quotas.
"""

from typing import Final

# The maximum size of an object in bytes, by the content of its kind: data, a pod template, or neither.
DATA_SIZE: Final = 64 * 1024
TEMPLATE_SIZE: Final = 32 * 1024
OBJECT_SIZE: Final = 16 * 1024
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
