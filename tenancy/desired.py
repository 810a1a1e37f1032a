"""The pure step: from a tenant and its plan to every object it is made of.

Called by the watcher, by `__main__.py` and by the drift check, which all must agree.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tenancy.base.errors import InvalidSpec
from tenancy.base.kinds import ROLE, ROLE_BINDING, kind_of
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.objects.extra_objects import extra_resources
from tenancy.objects.hnc import without_hnc_propagation
from tenancy.objects.integrations import ALL_INTEGRATION_KINDS, ServedKinds, integration_objects
from tenancy.objects.namespace import namespace_object
from tenancy.objects.network_policies import network_policies
from tenancy.objects.policy_annotations import hostnames
from tenancy.objects.quotas import limit_range, resource_quotas
from tenancy.objects.role_ceiling import rules_beyond_admin
from tenancy.objects.roles import role_bindings, roles
from tenancy.plans import Plans
from tenancy.spec.settings import QuotaScope, effective_settings
from tenancy.spec.tenant import DeletionPolicy, Tenant


@dataclass(frozen=True)
class DesiredState:
    """All objects of a tenant, each namespace before what stands in it."""

    tenant: str
    manifests: tuple[Manifest, ...]
    # Whether namespaces that are no longer wanted are kept.
    retains: bool = False
    is_protected: bool = False
    # Whether the quotas of all namespaces together are one budget.
    has_budget: bool = False
    hostnames: tuple[str, ...] = ()
    # The CRDs that the cluster lacks, by integration.
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def by_key(self) -> Mapping[ObjectKey, Manifest]:
        return {object_key(manifest): manifest for manifest in self.manifests}

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.by_key if key.kind == "Namespace")

    @property
    def missing_text(self) -> str:
        """What the cluster lacks, in one line. Empty where it lacks nothing."""
        return "; ".join(f"{name}: {', '.join(crds)}" for name, crds in self.missing.items())

    @cached_property
    def digest(self) -> str:
        """Equal digests mean equal objects: nothing to apply."""
        text = json.dumps([self.manifests, self.retains], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def desired_state(tenant: Tenant, plans: Plans, served: ServedKinds = ALL_INTEGRATION_KINDS) -> DesiredState:
    settings = effective_settings(plans.plan(tenant.spec.plan), tenant.spec)
    namespaces = tenant.namespaces()
    if len(namespaces) > settings.max_namespaces:
        raise InvalidSpec(
            "spec.namespaces",
            f"{len(namespaces)} given, but plan {tenant.spec.plan!r} allows {settings.max_namespaces}",
        )
    for place, problem in rules_beyond_admin(settings.roles):
        root = "spec" if tenant.spec.roles is not None else f"plans.{tenant.spec.plan}"
        raise InvalidSpec(f"{root}.roles.{place}", problem)
    manifests: list[Manifest] = []
    for name, given in namespaces.items():
        home = namespace_object(tenant, settings, name, given)
        own = [
            home,
            *roles(tenant, settings, name),
            *role_bindings(tenant, name, given.name if given else None),
            *resource_quotas(tenant, settings, name),
            limit_range(tenant, settings, name),
            *network_policies(tenant, settings, name),
        ]
        manifests += [*own, *extra_resources(tenant, settings, home, own)]
    if settings.hnc.enabled:
        manifests = [
            without_hnc_propagation(made) if kind_of(made) in (ROLE, ROLE_BINDING) else made
            for made in manifests
        ]
    integrated, missing = integration_objects(tenant, settings, served)
    return DesiredState(
        tenant.name,
        (*manifests, *integrated),
        retains=tenant.spec.deletion_policy is DeletionPolicy.RETAIN,
        is_protected=settings.protected,
        has_budget=settings.quota_scope is QuotaScope.TENANT,
        hostnames=hostnames(tenant.name, settings),
        missing=missing,
    )
