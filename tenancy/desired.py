"""The desired state of a tenant: all its objects, computed from its spec and its plan. No I/O."""

import hashlib
import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tenancy.base.errors import InvalidSpec, combined
from tenancy.base.kinds import ROLE, ROLE_BINDING, kind_of
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.objects.extra_objects import extra_resources
from tenancy.objects.hnc import without_hnc_propagation
from tenancy.objects.integrations import ALL_INTEGRATION_KINDS, ServedKinds, integration_objects
from tenancy.objects.namespace import namespace_object
from tenancy.objects.network_policies import network_policies
from tenancy.objects.object_counts import object_count_quota
from tenancy.objects.policy_annotations import hostnames
from tenancy.objects.quotas import limit_range, resource_quotas
from tenancy.objects.role_ceiling import rules_beyond_admin
from tenancy.objects.roles import role_bindings, roles
from tenancy.objects.subjects import Subject, spec_subjects
from tenancy.plans import Plans
from tenancy.spec.effective_settings import effective_settings
from tenancy.spec.settings import QuotaScope, TenantSettings
from tenancy.spec.tenant import DeletionPolicy, TenantModel


@dataclass(frozen=True)
class DesiredState:
    """All objects of a tenant. Each namespace comes before the objects in it."""

    tenant: str
    manifests: tuple[Manifest, ...]
    # Whether the platform keeps a namespace that no longer belongs to the tenant (`deletionPolicy: Retain`).
    retains: bool = False
    is_protected: bool = False
    # Whether the namespaces share the quotas as one budget (`quotaScope: Tenant`).
    has_budget: bool = False
    hostnames: tuple[str, ...] = ()
    # The users, groups and service accounts to which the spec gives access.
    subjects: tuple[Subject, ...] = ()
    # The names of the CRDs that the cluster lacks. The keys are names of integrations, such as `Istio`.
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def by_key(self) -> Mapping[ObjectKey, Manifest]:
        return {object_key(manifest): manifest for manifest in self.manifests}

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.by_key if key.kind == "Namespace")

    def without(self, kinds: Container[str]) -> "DesiredState":
        """A copy without the objects of these kinds. `kinds` contains values of `ObjectKey.kind`."""
        kept = tuple(manifest for key, manifest in self.by_key.items() if key.kind not in kinds)
        return replace(self, manifests=kept)

    @property
    def missing_text(self) -> str:
        """The missing CRDs in one line. Empty if no CRD is missing."""
        return "; ".join(f"{name}: {', '.join(crds)}" for name, crds in self.missing.items())

    @cached_property
    def digest(self) -> str:
        """A hash of the desired state. If it equals `status.appliedDigest`, the state is already applied."""
        text = json.dumps([self.manifests, self.retains], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def desired_state(
    tenant: TenantModel, plans: Plans, served: ServedKinds = ALL_INTEGRATION_KINDS
) -> DesiredState:
    """The desired state of a tenant.

    Raises UnknownPlan if the plan does not exist, and InvalidSpec if the plan does not allow the spec.
    """
    settings = effective_settings(plans.plan(tenant.spec.plan), tenant.spec)
    namespaces = tenant.namespaces()
    if rejections := list(_rejections(tenant, settings)):
        raise combined(rejections)
    manifests: list[Manifest] = []
    for name, namespace_spec in namespaces.items():
        namespace_manifest = namespace_object(tenant, settings, name, namespace_spec)
        core_objects = [
            namespace_manifest,
            *roles(tenant, settings, name),
            *role_bindings(tenant, name, namespace_spec.name if namespace_spec else None),
            *resource_quotas(tenant, settings, name),
            limit_range(tenant, settings, name),
            *network_policies(tenant, settings, name),
        ]
        counts = object_count_quota(tenant.name, name, len(namespaces), core_objects)
        extra_objects = extra_resources(tenant, settings, namespace_manifest, [*core_objects, counts])
        if extra_objects:
            objects = [*core_objects, *extra_objects]
            counts = object_count_quota(tenant.name, name, len(namespaces), objects)
        manifests += [*core_objects, counts, *extra_objects]
    if settings.hnc.enabled:
        manifests = [
            without_hnc_propagation(manifest) if kind_of(manifest) in (ROLE, ROLE_BINDING) else manifest
            for manifest in manifests
        ]
    integration_manifests, missing = integration_objects(tenant, settings, served)
    return DesiredState(
        tenant.name,
        (*manifests, *integration_manifests),
        retains=tenant.spec.deletion_policy is DeletionPolicy.RETAIN,
        is_protected=settings.protected,
        has_budget=settings.quota_scope is QuotaScope.TENANT,
        hostnames=hostnames(tenant.name, settings),
        subjects=spec_subjects(tenant),
        missing=missing,
    )


def _rejections(tenant: TenantModel, settings: TenantSettings) -> Iterator[InvalidSpec]:
    count, plan = len(tenant.namespaces()), tenant.spec.plan
    if count > settings.max_namespaces:
        problem = f"the tenant has {count} namespaces, but plan {plan!r} allows {settings.max_namespaces}"
        yield InvalidSpec("spec.namespaces", f"{problem}; remove namespaces, or choose another plan")
    root = "spec" if tenant.spec.roles is not None else f"plans.{plan}"
    for place, problem in rules_beyond_admin(settings.roles):
        yield InvalidSpec(f"{root}.roles.{place}", problem)
