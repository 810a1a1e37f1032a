"""The ResourceQuota that limits the number of objects in one namespace.

All tenants share etcd, which holds a few gigabytes. The quotas of a plan limit only some kinds. So each
namespace gets one more ResourceQuota, `tenant-object-counts`. It limits every other kind that a Role of the
namespace can create.

- If a quota of the plan or the tenant contains `count/RESOURCE`, `tenant-object-counts` has no limit for this
  resource.
- If a tenant has more than 25 namespaces, its namespaces get lower limits. So the number of objects of the
  whole tenant is limited too.
- The platform's own objects do not use up the limits. Their number, rounded up, is added to the limits.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from tenancy.base.kinds import AISESSION, RESOURCE_QUOTA, ROLE, kind_of
from tenancy.base.manifest import Manifest, namespaced_manifest
from tenancy.base.quantity import canonical_quantity, quantity_value
from tenancy.base.quota_keys import COUNT_KEY_MAX_LENGTH, COUNT_PREFIX, SHORT_COUNT_KEYS
from tenancy.objects.object_sizes import DATA_RESOURCES

# The name of the ResourceQuota.
OBJECT_COUNTS: Final = "tenant-object-counts"

# The limits of one namespace, if the tenant has at most _FULL_NAMESPACES namespaces.
_DEFAULT_LIMIT: Final = 40
_LIMITS: Final = {
    **dict.fromkeys(DATA_RESOURCES, 200),
    "deployments.apps": 100,
    # By default, a Deployment keeps up to 10 old ReplicaSets.
    "replicasets.apps": 300,
    # Objects of these kinds stay for a while after they are no longer needed.
    "controllerrevisions.apps": 100,
    "jobs.batch": 100,
    AISESSION.resource: 100,
}
_FULL_NAMESPACES: Final = 25
# The limit for pods if no quota limits pods.
_PODS: Final = 200
# The additional limit for pods that have ended. The quota key `pods` does not count them.
_ENDED_PODS: Final = 100
# The number of the platform's objects is rounded up to a multiple of this number. Otherwise, a change of the
# settings that adds one object would also change the ResourceQuota.
_STEP: Final = 5
# Objects that Kubernetes creates for each Service. With IPv4 and IPv6, a Service has two EndpointSlices.
_PER_SERVICE: Final = {"endpoints": 1, "endpointslices.discovery.k8s.io": 2}
# No quota can limit these resources. The admission policy `tenancy-events` rejects Events of users.
_UNCOUNTABLE: Final = frozenset({"events", "events.events.k8s.io"})


def object_count_quota(
    tenant: str, namespace: str, namespace_count: int, objects: Sequence[Manifest]
) -> Manifest:
    """The ResourceQuota `tenant-object-counts` of one namespace.

    `objects` are all other objects that the platform creates in the namespace. `namespace_count` is the
    number of the tenant's namespaces.
    """
    rules = [rule for manifest in objects if kind_of(manifest) == ROLE for rule in manifest["rules"]]
    quotas = [manifest for manifest in objects if kind_of(manifest) == RESOURCE_QUOTA]
    own_objects = Counter(kind_of(manifest).resource for manifest in objects)
    limits = _limits(creatable_resources(rules), _limits_of_quotas(quotas), namespace_count)
    hard = {
        f"{COUNT_PREFIX}{resource}": canonical_quantity(str(limit + _rounded_up(own_objects[resource])))
        for resource, limit in sorted(limits.items())
        if len(resource) <= COUNT_KEY_MAX_LENGTH
    }
    return namespaced_manifest("v1", "ResourceQuota", tenant, namespace, OBJECT_COUNTS, spec={"hard": hard})


def session_limits(objects: Iterable[Manifest]) -> dict[str, int]:
    """The maximum number of AISessions of each namespace, from the ResourceQuotas in `objects`.

    A namespace without such a limit is missing.
    """
    quotas: dict[str, list[Manifest]] = {}
    for manifest in objects:
        if manifest["kind"] == RESOURCE_QUOTA.kind:
            quotas.setdefault(manifest["metadata"]["namespace"], []).append(manifest)
    limits = {namespace: _limits_of_quotas(each) for namespace, each in quotas.items()}
    key = f"{COUNT_PREFIX}{AISESSION.resource}"
    return {namespace: int(each[key]) for namespace, each in limits.items() if key in each}


def creatable_resources(rules: Sequence[Mapping[str, Any]]) -> set[str]:
    """The resources on which the RBAC rules grant `create`, in the format RESOURCE or RESOURCE.GROUP.

    Subresources and Events are left out.
    """
    resources = {
        f"{resource}.{group}" if group else resource
        for rule in rules
        if "create" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if "/" not in resource
    }
    return resources - _UNCOUNTABLE


def _limits(resources: set[str], other_limits: Mapping[str, Decimal], namespace_count: int) -> dict[str, int]:
    """The limit of each resource. Resources that other quotas limit sufficiently are left out.

    `other_limits` are the limits of the other quotas, by quota key, such as `pods` or `count/jobs.batch`.
    """

    def in_tenant(limit: int) -> int:
        """The limit of one namespace. The sum for all namespaces is at most 25 times `limit`."""
        return limit * _FULL_NAMESPACES // namespace_count

    def default(resource: str) -> int:
        limit = _LIMITS.get(resource, _DEFAULT_LIMIT)
        return min(limit, in_tenant(limit))

    limits = {}
    for resource in resources | _PER_SERVICE.keys():
        if f"{COUNT_PREFIX}{resource}" in other_limits:
            continue
        if resource == "pods":
            pods = int(other_limits.get("pods", min(_PODS, in_tenant(_PODS))))
            limits[resource] = pods + min(_ENDED_PODS, in_tenant(_ENDED_PODS))
        elif resource not in other_limits:
            limits[resource] = default(resource)
        elif resource in DATA_RESOURCES and in_tenant(_LIMITS[resource]) < other_limits[resource]:
            limits[resource] = in_tenant(_LIMITS[resource])
    services = int(other_limits.get("services", other_limits.get("count/services", default("services"))))
    for resource, factor in _PER_SERVICE.items():
        if resource in limits:
            limits[resource] = max(limits[resource], factor * services)
    return limits


def _limits_of_quotas(quotas: Sequence[Manifest]) -> dict[str, Decimal]:
    """The lowest limit of each quota key that counts objects.

    Quotas with scopes are left out, because they count only some objects.
    """
    limits: dict[str, Decimal] = {}
    for key, amount in _amounts(quotas):
        if key.startswith(COUNT_PREFIX) or key in (*SHORT_COUNT_KEYS, "pods"):
            limits[key] = min(amount, limits.get(key, amount))
    return limits


def _amounts(quotas: Sequence[Manifest]) -> Iterator[tuple[str, Decimal]]:
    for quota in quotas:
        if not quota["spec"].keys() & {"scopes", "scopeSelector"}:
            for key, text in quota["spec"]["hard"].items():
                yield key, quantity_value(text)


def _rounded_up(number: int) -> int:
    return -(-number // _STEP) * _STEP
