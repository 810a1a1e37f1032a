"""Decides whether the spec of a Tenant can be applied, and computes the desired state. No I/O.

The watcher, `pulumi up`, the commands and the library all call `decide`, so they all make the same decision.
Each caller passes the facts that it has, such as the owners of namespaces and hosts. `cluster.facts` reads
facts from the cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tenancy.base.errors import InvalidSpec, QuotaInUse, Rejection, combined, rejections_of
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.desired import DesiredState, desired_state
from tenancy.namespace_and_host_conflicts import (
    SHARED_KINDS,
    check_extra_objects,
    check_hosts,
    check_namespaces,
    namespace_key,
)
from tenancy.objects.integrations import ALL_INTEGRATION_KINDS, ServedKinds
from tenancy.plans import Plans
from tenancy.quota_transition import budget_problem
from tenancy.spec.tenant import TenantModel, tenant_from_manifest


@dataclass(frozen=True)
class Facts:
    """The data about the cluster that `decide` needs. `decide` skips a check if its data is missing."""

    plans: Plans
    # The kinds of the integrations (Gatekeeper, Istio, HNC) that the cluster serves.
    served: ServedKinds = ALL_INTEGRATION_KINDS
    # The tenant that each namespace belongs to. The keys are full names of namespaces.
    holders: Mapping[str, str] = field(default_factory=dict)
    # The hosts of each tenant. The keys are names of tenants.
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # The live objects with the keys from `keys_to_read`. The value is None if the object does not exist.
    live: Mapping[ObjectKey, Manifest | None] = field(default_factory=dict)
    # The tenant's live ResourceQuotas.
    quotas: Mapping[ObjectKey, Manifest] = field(default_factory=dict)


class Decision(NamedTuple):
    """The result of `decide`: a tenant whose spec can be applied, and the tenant's desired state."""

    tenant: TenantModel
    desired: DesiredState


def decide(manifest: Manifest, facts: Facts) -> Decision:
    """Parse and check a Tenant manifest, and compute the desired state.

    If checks fail, raises one Rejection that contains the problems of all failed checks. If the spec cannot
    be parsed, raises InvalidSpec, and makes no other checks.
    """
    tenant = parsed_tenant(manifest, facts.plans)
    rejections = rejections_of(lambda: check_namespaces(tenant, manifest, facts.holders, facts.live))
    try:
        desired = desired_state(tenant, facts.plans, facts.served)
    except Rejection as error:
        raise combined([*rejections, *error.each]) from None
    rejections += rejections_of(
        lambda: check_hosts(desired, facts.hosts),
        lambda: check_extra_objects(tenant, desired, facts.live),
        lambda: check_quotas_in_use(desired, facts.quotas),
    )
    if rejections:
        raise combined(rejections)
    return Decision(tenant, desired)


def parsed_tenant(manifest: Manifest, plans: Plans) -> TenantModel:
    """The tenant in a manifest. Raises one InvalidSpec that contains the problems of all invalid fields."""
    try:
        return tenant_from_manifest(manifest)
    except InvalidSpec as error:
        spec = manifest.get("spec")
        plan = spec.get("plan") if isinstance(spec, Mapping) else None
        is_checked = isinstance(plan, str) and all(other.field != "spec.plan" for other in error.each)
        unknown = rejections_of(lambda: plans.plan(str(plan))) if is_checked else []
        raise combined([*error.each, *unknown]) from None


def keys_to_read(manifest: Manifest, plans: Plans, served: ServedKinds) -> list[ObjectKey]:
    """The keys of the objects that a caller must read from the cluster for `Facts.live`.

    The tenant needs these objects, but they can already exist in the cluster and belong to somebody else. The
    list is empty if the spec is invalid.
    """
    try:
        tenant = tenant_from_manifest(manifest)
        namespaces = [namespace_key(namespace) for namespace in tenant.namespaces()]
    except Rejection:
        return []
    try:
        objects = desired_state(tenant, plans, served).by_key
    except Rejection:
        return namespaces
    return [*namespaces, *(key for key in objects if key.kind in SHARED_KINDS)]


def check_quotas_in_use(desired: DesiredState, quotas: Mapping[ObjectKey, Manifest]) -> None:
    """Raise QuotaInUse if a namespace uses more than its new, lower share of the tenant's budget.

    `quotas` are the live ResourceQuotas. Only tenants with `quotaScope: Tenant` have a budget.
    """
    if problem := budget_problem(desired, quotas):
        raise QuotaInUse("", problem)
