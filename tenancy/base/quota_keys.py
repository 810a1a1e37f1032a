"""The keys of a ResourceQuota that limit each resource. The only table of these keys."""

from typing import Final

CPU_KEYS: Final = ("cpu", "requests.cpu", "limits.cpu")
MEMORY_KEYS: Final = ("memory", "requests.memory", "limits.memory")
STORAGE_KEYS: Final = ("requests.storage",)
POD_KEYS: Final = ("pods", "count/pods")
JOB_KEYS: Final = ("count/jobs.batch",)
QUOTA_KEYS: Final = ("resourcequotas", "count/resourcequotas")

# The fields of `spec.resourceQuotas`, and the keys that each of them sets.
OVERRIDE_KEYS: Final = {"cpu": CPU_KEYS, "memory": MEMORY_KEYS, "storage": STORAGE_KEYS}
# The resources that usage reports, by requests. The first key that a quota has counts.
REPORTED_KEYS: Final = {
    "cpu": ("requests.cpu", "cpu"),
    "memory": ("requests.memory", "memory"),
    "storage": STORAGE_KEYS,
    "pods": ("pods",),
}
