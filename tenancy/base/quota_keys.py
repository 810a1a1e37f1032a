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
