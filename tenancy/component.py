"""The ComponentResources: one tenant and all its objects in a Pulumi program.

`TenantResources` takes the desired objects; the watcher's inline program and `__main__.py` use it. `Tenant`
takes a spec, for anybody's own program. Neither decides anything: each object is as `desired` makes it.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

import pulumi

from tenancy.base.errors import InvalidSpec
from tenancy.base.kinds import RESOURCE_QUOTA, ROLE_BINDING
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.names import DNS_LABEL_PATTERN, FIELD_MANAGER
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import Plans, read_plans
from tenancy.spec.tenant import TenantSpec, tenant_from_manifest

# What waits until the rest of its namespace is there. A quota refuses what it counts until its own count
# is known; people get in when the walls stand.
_STAGES: Final = {RESOURCE_QUOTA.kind: 1, ROLE_BINDING.kind: 2}

# The short name of a namespace that was not given one.
DEFAULT_NAMESPACE: Final = "default"

_PROVIDER_VERSION: Final = version("pulumi-kubernetes")

_ANNOTATIONS: Final = {
    # A fixed manager, so that lost state does not leave fields to a manager nobody knows any more.
    "pulumi.com/patchFieldManager": FIELD_MANAGER,
    # What somebody else has set in a field of ours is drift, and is taken back.
    "pulumi.com/patchForce": "true",
}
# Nothing of a tenant becomes ready by itself, and a namespace's end is awaited by watching it.
NO_AWAIT: Final = {"pulumi.com/skipAwait": "true"}


class TenantResources(pulumi.ComponentResource):
    """Everything a tenant is made of, as one node in the stack's tree."""

    def __init__(self, name: str, desired: DesiredState, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:Tenant", name, None, opts)
        self._homes: dict[str, pulumi.Resource] = {}
        made: defaultdict[str, list[tuple[int, pulumi.Resource]]] = defaultdict(list)
        for key, manifest in sorted(desired.by_key.items(), key=lambda item: apply_stage(item[0])):
            options = pulumi.ResourceOptions(parent=self)
            if key.kind == "Namespace":
                options.retain_on_delete = desired.retains
                self._homes[key.name] = kubernetes_object(key, manifest, options)
                continue
            if key.namespace:
                before = [resource for stage, resource in made[key.namespace] if stage < apply_stage(key)]
                options.depends_on = [self._homes[key.namespace], *before]
                # A namespace takes its content with it, one delete instead of twenty; unless it stays.
                options.deleted_with = None if desired.retains else self._homes[key.namespace]
            made[key.namespace].append((apply_stage(key), kubernetes_object(key, manifest, options)))
        self.register_outputs({"namespaces": list(desired.namespaces)})


class Tenant(TenantResources):
    """A tenant from its spec. A spec that cannot be built raises InvalidSpec, which names the field."""

    namespaces: pulumi.Output[dict[str, str]]
    """The tenant's namespaces: full names by their names in the spec, `default` where none was given.
    What uses one waits until it is there."""

    quotas: list[str]
    """The names of the ResourceQuotas in each namespace."""

    def __init__(
        self,
        name: str,
        spec: TenantSpec | None = None,
        *,
        plans: Plans | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`plans` are the shipped ones where none are given; `tenancy.read_plans` reads a file."""
        if not re.fullmatch(DNS_LABEL_PATTERN, name):
            raise InvalidSpec("name", f"{name!r} must be a DNS label: lower case letters, digits and dashes")
        tenant = tenant_from_manifest({"metadata": {"name": name}, "spec": spec or TenantSpec()})
        desired = desired_state(tenant, plans or read_plans())
        super().__init__(name, desired, opts)
        self.namespaces = pulumi.Output.all(
            **{
                given.name if given else tenant.spec.name or DEFAULT_NAMESPACE: self._name_of(full_name)
                for full_name, given in tenant.namespaces().items()
            }
        )
        quotas = dict.fromkeys(key.name for key in desired.by_key if key.kind == "ResourceQuota")
        self.quotas = list(quotas)

    def _name_of(self, namespace: str) -> pulumi.Output[str]:
        """Known before the namespace is made, and yet a reason to wait for it."""
        return self._homes[namespace].urn.apply(lambda _: namespace)


def apply_stage(key: ObjectKey) -> int:
    """In which order the objects of a namespace are created: lower stages first."""
    return _STAGES.get(key.kind, 0)


def kubernetes_object(
    key: ObjectKey,
    manifest: Manifest,
    options: pulumi.ResourceOptions,
    awaits: Mapping[str, str] = NO_AWAIT,
) -> pulumi.Resource:
    """A Kubernetes object as it stands. The SDK's class per kind would send the same, but translate every
    field there and back, and take seconds to import."""
    options.version = _PROVIDER_VERSION
    token = resource_type(manifest)
    return pulumi.CustomResource(token, resource_name(key), resource_inputs(manifest, awaits), options)


def resource_type(manifest: Manifest) -> str:
    """The type token under which Pulumi's state has the object."""
    return f"kubernetes:{_group(manifest['apiVersion'])}:{manifest['kind']}"


def resource_name(key: ObjectKey) -> str:
    """The name under which Pulumi's state has the object."""
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def resource_inputs(manifest: Manifest, awaits: Mapping[str, str] = NO_AWAIT) -> dict[str, Any]:
    """The manifest with the annotations that steer the provider."""
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), **_ANNOTATIONS, **awaits}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def _group(api_version: str) -> str:
    return api_version if "/" in api_version else f"core/{api_version}"
