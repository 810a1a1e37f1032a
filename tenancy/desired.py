"""The pure step: from a tenant and its plan to every object it is made of.

Called by the watcher, by `__main__.py` and by the drift check, which all must agree.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tenancy.errors import InvalidSpec
from tenancy.manifest import Manifest, ObjectKey, object_key
from tenancy.namespace import namespace
from tenancy.network import network_policies
from tenancy.plans import Plans
from tenancy.quota import limit_range, resource_quotas
from tenancy.rbac import role_bindings, roles
from tenancy.tenant import Tenant


@dataclass(frozen=True)
class DesiredState:
    """All objects of a tenant, each namespace before what stands in it."""

    tenant: str
    manifests: tuple[Manifest, ...]

    @cached_property
    def by_key(self) -> Mapping[ObjectKey, Manifest]:
        return {object_key(manifest): manifest for manifest in self.manifests}

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.by_key if key.kind == "Namespace")

    @cached_property
    def digest(self) -> str:
        """Equal digests mean equal objects: nothing to apply."""
        text = json.dumps(self.manifests, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def desired_state(tenant: Tenant, plans: Plans) -> DesiredState:
    plan = plans.plan(tenant.spec.plan)
    namespaces = tenant.namespaces()
    if len(namespaces) > plan.max_namespaces:
        raise InvalidSpec(
            "spec.namespaces",
            f"{len(namespaces)} given, but plan {tenant.spec.plan!r} allows {plan.max_namespaces}",
        )
    manifests: list[Manifest] = []
    for name, given in namespaces.items():
        manifests += [
            namespace(tenant, plan, name, given),
            *roles(tenant, name),
            *role_bindings(tenant, name, given.name if given else None),
            *resource_quotas(tenant, plan, name),
            limit_range(tenant, plan, name),
            *network_policies(tenant, plan, name),
        ]
    return DesiredState(tenant.name, tuple(manifests))
