"""Decides whether the spec of a Tenant can be applied, and computes the desired state. No I/O.

Only `decide` makes this decision. The reconciler, `pulumi up`, previews, rollback, import, diff and the
library call it. Each caller passes the facts that it knows. `cluster.facts` reads facts from the cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tenancy.base.errors import HostTaken, NamespaceTaken, ObjectTaken, QuotaInUse, Rejection
from tenancy.base.kinds import CONFIG_MAP, DISRUPTION_BUDGET, NAMESPACE, SERVICE
from tenancy.base.manifest import Manifest, ObjectKey, is_deleting
from tenancy.base.names import MANAGED_LABEL, SHARED_LABEL, TENANT_LABEL
from tenancy.base.platform_names import INTEGRATION_NAMESPACES, SYSTEM_NAMESPACE
from tenancy.desired import DesiredState, desired_state
from tenancy.objects.integrations import ALL_INTEGRATION_KINDS, ServedKinds
from tenancy.objects.policy_annotations import hosts_overlap
from tenancy.plans import Plans
from tenancy.quota_transition import budget_problem
from tenancy.spec.tenant import TenantModel, tenant_from_manifest

_NEVER_ADOPTED: Final = ("default", SYSTEM_NAMESPACE, *INTEGRATION_NAMESPACES)
# Kinds that the tenant's users also create. Such an object can have the same name as an extra object.
_SHARED_KINDS: Final = {kind.key for kind in (CONFIG_MAP, SERVICE, DISRUPTION_BUDGET)}


@dataclass(frozen=True)
class Facts:
    """The state of the cluster that a decision depends on. A check is skipped if its facts are missing."""

    plans: Plans
    # The kinds of integrations that the cluster serves.
    served: ServedKinds = ALL_INTEGRATION_KINDS
    # By namespace: the tenant that it belongs to.
    holders: Mapping[str, str] = field(default_factory=dict)
    # By tenant: its hosts.
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # The live objects with the keys from `keys_to_read`. The value is None if the object does not exist.
    live: Mapping[ObjectKey, Manifest | None] = field(default_factory=dict)
    # The tenant's live ResourceQuotas.
    quotas: Mapping[ObjectKey, Manifest] = field(default_factory=dict)


class Decision(NamedTuple):
    """A tenant whose spec can be applied, and its desired state."""

    tenant: TenantModel
    desired: DesiredState


def decide(manifest: Manifest, facts: Facts) -> Decision:
    """The tenant in a manifest, and its desired state. Raises Rejection with the field and the reason."""
    tenant = tenant_from_manifest(manifest)
    _check_namespaces(tenant, facts)
    desired = desired_state(tenant, facts.plans, facts.served)
    _check_hosts(desired, facts.hosts)
    _check_extra_objects(tenant, desired, facts.live)
    check_quotas_in_use(desired, facts.quotas)
    return Decision(tenant, desired)


def keys_to_read(manifest: Manifest, plans: Plans, served: ServedKinds) -> list[ObjectKey]:
    """The keys of the objects that `Facts.live` needs. Such an object may already belong to somebody else."""
    try:
        tenant = tenant_from_manifest(manifest)
        namespaces = [_namespace_key(namespace) for namespace in tenant.namespaces()]
    except Rejection:
        return []
    try:
        objects = desired_state(tenant, plans, served).by_key
    except Rejection:
        return namespaces
    return [*namespaces, *(key for key in objects if key.kind in _SHARED_KINDS)]


def check_quotas_in_use(desired: DesiredState, quotas: Mapping[ObjectKey, Manifest]) -> None:
    """Raise QuotaInUse if a namespace uses more than its new share of the budget."""
    if problem := budget_problem(desired, quotas):
        raise QuotaInUse("", problem)


def _check_namespaces(tenant: TenantModel, facts: Facts) -> None:
    for index, namespace in enumerate(tenant.namespaces()):
        problem = _live_problem(tenant, index, facts) or _holder_problem(tenant.name, namespace, facts)
        if problem:
            raise NamespaceTaken(tenant.namespace_field(index), f"namespace {namespace!r} {problem}")


def _holder_problem(tenant: str, namespace: str, facts: Facts) -> str | None:
    holder = facts.holders.get(namespace, tenant)
    return None if holder == tenant else f"belongs to tenant {holder!r}"


def _live_problem(tenant: TenantModel, index: int, facts: Facts) -> str | None:
    """The reason why the live Namespace can't belong to the tenant. None if it can."""
    name, namespace_spec = list(tenant.namespaces().items())[index]
    key = _namespace_key(name)
    if key not in facts.live:
        return None
    live = facts.live[key]
    if live is None:
        must_exist = namespace_spec is not None and namespace_spec.existing is not None
        return "does not exist, so it can't be adopted" if must_exist else None
    labels = _labels(live)
    holder = labels.get(TENANT_LABEL, "")
    if holder == tenant.name and labels.get(MANAGED_LABEL) == "true":
        return None
    if holder and holder != tenant.name:
        return f"belongs to tenant {holder!r}"
    if not tenant.spec.adopt:
        return "exists already and belongs to no tenant; set spec.adopt to true to adopt it"
    if name in _NEVER_ADOPTED or name.startswith("kube-") or SHARED_LABEL in labels:
        return "is the platform's own, and can't be adopted"
    if is_deleting(live):
        return "is being deleted, and can't be adopted"
    return None


def _check_hosts(desired: DesiredState, hosts: Mapping[str, tuple[str, ...]]) -> None:
    for index, host in enumerate(desired.hostnames):
        for other, other_hosts in hosts.items():
            if other != desired.tenant and any(hosts_overlap(host, other_host) for other_host in other_hosts):
                raise HostTaken(
                    f"spec.hostnames[{index}]",
                    f"host {host!r} belongs to tenant {other!r}; choose another host",
                )


def _check_extra_objects(
    tenant: TenantModel, desired: DesiredState, live: Mapping[ObjectKey, Manifest | None]
) -> None:
    for key in desired.by_key:
        live_object = live.get(key) if key.kind in _SHARED_KINDS else None
        if live_object is not None and _labels(live_object).get(MANAGED_LABEL) != "true":
            root = "spec" if tenant.spec.extra_resources else f"plans.{tenant.spec.plan}"
            raise ObjectTaken(
                f"{root}.extraResources",
                f"{key} exists already and is not managed by the platform; delete it, or rename the extra "
                "object",
            )


def _namespace_key(name: str) -> ObjectKey:
    return ObjectKey(NAMESPACE.kind, "", name)


def _labels(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("labels") or {}
