"""The ComponentResource: one tenant and all its objects in a Pulumi program.

Used by the watcher's inline program, by `__main__.py`, and by anybody's own program.
It decides nothing: each object comes from the desired state as it is.
"""

from importlib.metadata import version
from typing import Any, Final

import pulumi

from tenancy.desired import DesiredState
from tenancy.manifest import Manifest, ObjectKey
from tenancy.names import FIELD_MANAGER

_PROVIDER_VERSION: Final = version("pulumi-kubernetes")

_ANNOTATIONS: Final = {
    # A fixed manager, so that lost state does not leave fields to a manager nobody knows any more.
    "pulumi.com/patchFieldManager": FIELD_MANAGER,
    # What somebody else has set in a field of ours is drift, and is taken back.
    "pulumi.com/patchForce": "true",
    # Nothing here becomes ready by itself, and a namespace's end is awaited by watching it.
    "pulumi.com/skipAwait": "true",
}


class TenantResources(pulumi.ComponentResource):
    """Everything a tenant is made of, as one node in the stack's tree."""

    def __init__(self, name: str, desired: DesiredState, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:Tenant", name, None, opts)
        namespaces: dict[str, pulumi.Resource] = {}
        for key, manifest in desired.by_key.items():
            options = pulumi.ResourceOptions(parent=self, version=_PROVIDER_VERSION)
            if key.kind == "Namespace":
                options.retain_on_delete = desired.retains
                namespaces[key.name] = _object(key, manifest, options)
                continue
            if key.namespace:
                options.depends_on = [namespaces[key.namespace]]
                # A namespace takes its content with it, one delete instead of twenty; unless it stays.
                options.deleted_with = None if desired.retains else namespaces[key.namespace]
            _object(key, manifest, options)
        self.register_outputs({"namespaces": list(desired.namespaces)})


def _object(key: ObjectKey, manifest: Manifest, options: pulumi.ResourceOptions) -> pulumi.Resource:
    """A Kubernetes object as it stands. The SDK's class per kind would send the same, but translate every
    field there and back, and take seconds to import."""
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    token = f"kubernetes:{_group(manifest['apiVersion'])}:{manifest['kind']}"
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), **_ANNOTATIONS}
    properties: dict[str, Any] = {**manifest, "metadata": {**metadata, "annotations": annotations}}
    return pulumi.CustomResource(token, name, properties, options)


def _group(api_version: str) -> str:
    return api_version if "/" in api_version else f"core/{api_version}"
