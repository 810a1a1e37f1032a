"""The ComponentResources that declare a tenant in a Pulumi program.

`TenantResources` declares the objects of a desired state. The watcher and `__main__.py` use it. `Tenant`
computes the desired state from a spec. Users use `Tenant` in their own Pulumi programs.
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
from tenancy.decision import Facts, decide
from tenancy.desired import DesiredState
from tenancy.plans import Plans, read_plans
from tenancy.spec.tenant import TenantSpec

# Kinds that are created after the other objects of their namespace. After a ResourceQuota is created, the API
# server rejects new objects until the existing objects are counted. RoleBindings are created last, so that
# users get access only when isolation is complete.
_STAGES: Final = {RESOURCE_QUOTA.kind: 1, ROLE_BINDING.kind: 2}

# The key of the default namespace in `Tenant.namespaces` if `spec.name` is not set.
DEFAULT_NAMESPACE: Final = "default"

_PROVIDER_VERSION: Final = version("pulumi-kubernetes")

_ANNOTATIONS: Final = {
    # The field manager is fixed, so that a stack can still update its objects after its state was lost.
    "pulumi.com/patchFieldManager": FIELD_MANAGER,
    # Overwrite fields that another field manager has changed. Such a change is drift.
    "pulumi.com/patchForce": "true",
}
# Pulumi does not wait until a tenant's objects are ready or deleted. The watcher watches deleted namespaces
# itself.
NO_AWAIT: Final = {"pulumi.com/skipAwait": "true"}


class TenantResources(pulumi.ComponentResource):
    """All objects of a tenant, as one component in the stack."""

    def __init__(self, name: str, desired: DesiredState, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:Tenant", name, None, opts)
        self._namespaces: dict[str, pulumi.Resource] = {}
        created: defaultdict[str, list[tuple[int, pulumi.Resource]]] = defaultdict(list)
        for key, manifest in sorted(desired.by_key.items(), key=lambda item: apply_stage(item[0])):
            options = pulumi.ResourceOptions(parent=self)
            if key.kind == "Namespace":
                options.retain_on_delete = desired.retains
                self._namespaces[key.name] = kubernetes_object(key, manifest, options)
                continue
            if key.namespace:
                before = [resource for stage, resource in created[key.namespace] if stage < apply_stage(key)]
                options.depends_on = [self._namespaces[key.namespace], *before]
                # Kubernetes deletes the objects of a deleted namespace, so Pulumi does not have to delete
                # each of them.
                options.deleted_with = None if desired.retains else self._namespaces[key.namespace]
            created[key.namespace].append((apply_stage(key), kubernetes_object(key, manifest, options)))
        self.register_outputs({"namespaces": list(desired.namespaces)})


class Tenant(TenantResources):
    """All objects of a tenant, computed from its spec. Raises InvalidSpec if a field is invalid."""

    namespaces: pulumi.Output[dict[str, str]]
    """The full names of the namespaces, by their names in the spec.

    If `spec.namespaces` is empty, the only key is `spec.name`. If `spec.name` is not set either, the key is
    `default`. A resource that uses a full name from this output depends on the namespace."""

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
        """`plans` defaults to the plans in this package. To use other plans, call `tenancy.read_plans`."""
        if not re.fullmatch(DNS_LABEL_PATTERN, name):
            raise InvalidSpec("name", f"{name!r} must be a DNS label: lower case letters, digits and dashes")
        manifest = {"metadata": {"name": name}, "spec": spec or TenantSpec()}
        tenant, desired = decide(manifest, Facts(plans or read_plans()))
        super().__init__(name, desired, opts)
        self.namespaces = pulumi.Output.all(
            **{
                namespace.name if namespace else tenant.spec.name or DEFAULT_NAMESPACE: self._output(
                    full_name
                )
                for full_name, namespace in tenant.namespaces().items()
            }
        )
        quotas = dict.fromkeys(key.name for key in desired.by_key if key.kind == "ResourceQuota")
        self.quotas = list(quotas)

    def _output(self, namespace: str) -> pulumi.Output[str]:
        """The namespace's name, as an output that depends on the namespace."""
        return self._namespaces[namespace].urn.apply(lambda _: namespace)


def apply_stage(key: ObjectKey) -> int:
    """The stage in which an object of a namespace is created. Lower stages come first."""
    return _STAGES.get(key.kind, 0)


def kubernetes_object(
    key: ObjectKey,
    manifest: Manifest,
    options: pulumi.ResourceOptions,
    awaits: Mapping[str, str] = NO_AWAIT,
) -> pulumi.Resource:
    """Register a Kubernetes object from its manifest.

    The Pulumi SDK has a class for each kind. This function does not use these classes, because their import
    takes seconds. They also convert every field twice.
    """
    options.version = _PROVIDER_VERSION
    token = resource_type(manifest)
    return pulumi.CustomResource(token, resource_name(key), resource_inputs(manifest, awaits), options)


def resource_type(manifest: Manifest) -> str:
    """The object's type token in Pulumi's state."""
    return f"kubernetes:{_group(manifest['apiVersion'])}:{manifest['kind']}"


def resource_name(key: ObjectKey) -> str:
    """The object's name in Pulumi's state."""
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def resource_inputs(manifest: Manifest, awaits: Mapping[str, str] = NO_AWAIT) -> dict[str, Any]:
    """The manifest with the annotations that configure Pulumi's Kubernetes provider."""
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), **_ANNOTATIONS, **awaits}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def _group(api_version: str) -> str:
    return api_version if "/" in api_version else f"core/{api_version}"
