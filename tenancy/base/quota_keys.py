"""The keys in `spec.hard` of a ResourceQuota, grouped by the resource that they limit.

Only this module lists the keys.
"""

from typing import Final

CPU_KEYS: Final = ("cpu", "requests.cpu", "limits.cpu")
MEMORY_KEYS: Final = ("memory", "requests.memory", "limits.memory")
STORAGE_KEYS: Final = ("requests.storage",)
POD_KEYS: Final = ("pods", "count/pods")
JOB_KEYS: Final = ("count/jobs.batch",)
QUOTA_KEYS: Final = ("resourcequotas", "count/resourcequotas")
# Quota keys that limit the number of objects and do not begin with COUNT_PREFIX. Each key is the name of the
# resource that it counts. The key `pods` is not listed, because it does not count pods that have ended.
SHORT_COUNT_KEYS: Final = (
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "secrets",
    "services",
)
# `count/RESOURCE` or `count/RESOURCE.GROUP` limits the number of objects of any kind.
COUNT_PREFIX: Final = "count/"
# Kubernetes rejects a ResourceQuota if the part of a key after the slash is longer than this.
COUNT_KEY_MAX_LENGTH: Final = 63

# The fields of a Tenant's `spec.resourceQuotas`, and the quota keys that each field sets.
OVERRIDE_KEYS: Final = {"cpu": CPU_KEYS, "memory": MEMORY_KEYS, "storage": STORAGE_KEYS}
# The resources in usage reports, and the quota keys that their amounts come from. If a quota has several of
# the keys, the first one is used. The amounts of CPU and memory are requests, not limits.
REPORTED_KEYS: Final = {
    "cpu": ("requests.cpu", "cpu"),
    "memory": ("requests.memory", "memory"),
    "storage": STORAGE_KEYS,
    "pods": ("pods",),
}
