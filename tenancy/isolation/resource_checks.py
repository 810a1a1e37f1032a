"""Checks that a tenant can't exceed its quotas, fill etcd, or use the volumes of other tenants."""

from math import floor
from typing import Final

from tenancy.base.kinds import CONFIG_MAP, DISRUPTION_BUDGET, EVENT, JOB, POD, RESOURCE_QUOTA
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.quantity import quantity_value
from tenancy.isolation.check import (
    PROBE,
    RBAC,
    Check,
    Layer,
    Level,
    NotApplicable,
    Protection,
    Request,
    Role,
    policy,
    tenant_object,
)
from tenancy.isolation.requests import REVISION, claim, create, patch, pod, pod_spec
from tenancy.isolation.target import Target
from tenancy.objects.object_sizes import DATA_SIZE, TEMPLATE_SIZE

_YEAR_S: Final = 31_536_000
_MAX_CONTAINERS: Final = 40
_GRACE: Final = policy("grace-periods")
_SIZES: Final = policy("object-sizes")


def _quota(target: Target, name: str, resource: str) -> str:
    """The limit of a resource in a quota of the tenant. Raises NotApplicable if there is no such limit."""
    manifest: Manifest = target.desired.by_key.get(
        ObjectKey(RESOURCE_QUOTA.key, target.namespace, name), {"spec": {"hard": {}}}
    )
    hard: dict[str, str] = manifest["spec"]["hard"]
    if resource not in hard:
        raise NotApplicable(f"quota {name} of the tenant does not limit {resource}")
    return hard[resource]


def _above_cpu_quota(target: Target) -> Request:
    """A request for a pod whose containers together exceed the CPU quota.

    Each container alone complies with the LimitRange.
    """
    hard = quantity_value(_quota(target, "tenant-quota", "cpu"))
    amount = target.settings.limits.max.get("cpu", f"{hard + 1}")
    count = floor(hard / quantity_value(amount)) + 1
    if count > _MAX_CONTAINERS:
        raise NotApplicable("a pod that exceeds the quota would have too many containers")
    resources = {"limits": {"cpu": amount}, "requests": {"cpu": amount}}
    main = pod_spec(target, {"resources": resources})["containers"][0]
    return pod(target, containers=[{**main, "name": f"main-{number}"} for number in range(count)])


def _above_storage_quota(target: Target) -> Request:
    _quota(target, "tenant-quota-storage", "requests.storage")
    if target.settings.storage_classes == ():
        raise NotApplicable("storageClasses of the tenant is empty, so no storage class is allowed")
    return claim(target, resources={"requests": {"storage": "7Ei"}})


def _other_storage_class(target: Target) -> Request:
    target.require_list("storageClasses", target.settings.storage_classes)
    return claim(target, storageClassName=PROBE)


def _eviction(target: Target) -> Request:
    name = target.live_names.get(POD, PROBE)
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": target.namespace},
        "deleteOptions": {"gracePeriodSeconds": _YEAR_S},
    }
    return Request("create", POD, name, target.namespace, "eviction", body)


def _event(target: Target) -> Request:
    involved = {"kind": "Pod", "namespace": target.namespace, "name": PROBE}
    return create(target, EVENT, involvedObject=involved, reason="Prove", message="", type="Normal")


RESOURCE_CHECKS: Final = (
    Check(
        "quota-compute",
        "A pod requests more CPU than the quota allows",
        Level.BASIC,
        Role.ADMIN,
        (Protection(Layer.QUOTA, "tenant-quota"), tenant_object(RESOURCE_QUOTA, "tenant-quota")),
        _above_cpu_quota,
    ),
    Check(
        "quota-storage",
        "A claim requests more storage than the quota allows",
        Level.BASIC,
        Role.ADMIN,
        (
            Protection(Layer.QUOTA, "tenant-quota-storage"),
            tenant_object(RESOURCE_QUOTA, "tenant-quota-storage"),
        ),
        _above_storage_quota,
    ),
    Check(
        "quota-objects",
        "The tenant creates more objects than the quota allows",
        Level.BASIC,
        Role.ADMIN,
        (tenant_object(RESOURCE_QUOTA, "tenant-quota-objects"),),
    ),
    Check(
        "pod-status",
        "A running pod says that it has ended, to free its quota",
        Level.HOSTILE,
        Role.OPERATOR,
        (policy("pod-status"),),
        lambda target: patch(
            target, POD, target.live_name(POD), {"status": {"phase": "Succeeded"}}, "status"
        ),
    ),
    Check(
        "job-status",
        "A running Job says that it has ended",
        Level.HOSTILE,
        Role.OPERATOR,
        (policy("jobs-status"),),
        lambda target: patch(target, JOB, target.live_name(JOB), {"status": {"succeeded": 99}}, "status"),
    ),
    Check(
        "budget-status",
        "A budget says that no pod may be disrupted",
        Level.HOSTILE,
        Role.ADMIN,
        (policy("poddisruptionbudgets-status"),),
        lambda target: patch(
            *(target, DISRUPTION_BUDGET, target.live_name(DISRUPTION_BUDGET)),
            *({"status": {"disruptionsAllowed": 99}}, "status"),
        ),
    ),
    Check(
        "grace-period",
        "A pod takes a year to end",
        Level.HOSTILE,
        Role.OPERATOR,
        (_GRACE,),
        lambda target: pod(target, terminationGracePeriodSeconds=_YEAR_S),
    ),
    Check(
        "eviction-grace-period",
        "An eviction gives a pod a year to end",
        Level.HOSTILE,
        Role.ADMIN,
        (RBAC, _GRACE),
        _eviction,
    ),
    Check(
        "size-data",
        "A ConfigMap fills etcd",
        Level.HOSTILE,
        Role.OPERATOR,
        (_SIZES,),
        lambda target: create(target, CONFIG_MAP, data={"a": "x" * (DATA_SIZE + 1)}),
    ),
    Check(
        "size-revision",
        "A ControllerRevision fills etcd",
        Level.HOSTILE,
        Role.OPERATOR,
        (_SIZES,),
        lambda target: create(target, REVISION, revision=1, data={"a": "x" * (TEMPLATE_SIZE + 1)}),
    ),
    Check(
        "events",
        "A user writes Events, which no quota counts",
        Level.HOSTILE,
        Role.OPERATOR,
        (policy("events"),),
        _event,
    ),
    Check(
        "volume-name",
        "A claim takes a volume of another tenant by its name",
        Level.HOSTILE,
        Role.ADMIN,
        (policy("volumes"),),
        lambda target: claim(target, volumeName=PROBE),
    ),
    Check(
        "volume-selector",
        "A claim takes a volume of another tenant by its labels",
        Level.HOSTILE,
        Role.ADMIN,
        (policy("volumes"),),
        lambda target: claim(target, selector={"matchLabels": {"app": PROBE}}),
    ),
    Check(
        "storage-class",
        "A claim uses a storage class that is not allowed",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (policy("claims"),),
        _other_storage_class,
    ),
)
