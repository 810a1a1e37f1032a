"""The ComponentResource of the platform's own objects, for `pulumi up --stack platform`.

The component defines in which order Pulumi creates and deletes the objects. Pulumi creates the CRDs of
Tenants last and deletes them first. While Tenants exist, the API server rejects the deletion of these CRDs.
So `pulumi destroy` fails before it deletes any other object.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import pulumi

from tenancy.base.kinds import CRD, DEPLOYMENT, NAMESPACE, STATEFUL_SET, TENANTS
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.component import kubernetes_object
from tenancy.registrations import NO_AWAIT

_TENANT_CRDS: Final = tuple(kind.crd for kind in TENANTS)


class PlatformResources(pulumi.ComponentResource):
    """All objects of the platform, as one component in the stack."""

    def __init__(
        self, name: str, manifests: Sequence[Manifest], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("tenancy:index:Platform", name, None, opts)
        namespaces: dict[str, pulumi.Resource] = {}
        dependencies: list[pulumi.Resource] = []
        for key, manifest in sorted(map(_with_key, manifests), key=_stage):
            options = pulumi.ResourceOptions(parent=self)
            if namespace := namespaces.get(key.namespace):
                options.depends_on = [namespace]
                options.deleted_with = namespace
            if key.kind == CRD.kind:
                # The CRD depends on all earlier resources, including the watcher, so Pulumi deletes the CRD
                # before them. The watcher must still run at that time, to remove the finalizers of Tenants.
                options.depends_on = list(dependencies)
            resource = kubernetes_object(key, manifest, options, _wait_annotations(key))
            if key.kind == NAMESPACE.kind:
                namespaces[key.name] = resource
            if key.name not in _TENANT_CRDS:
                dependencies.append(resource)
        self.register_outputs({"objects": len(manifests)})


def _with_key(manifest: Manifest) -> tuple[ObjectKey, Manifest]:
    return object_key(manifest), manifest


def _stage(entry: tuple[ObjectKey, Manifest]) -> int:
    key, _ = entry
    if key.kind == NAMESPACE.kind:
        return 0
    if key.kind != CRD.kind:
        return 1
    return 3 if key.name in _TENANT_CRDS else 2


def _wait_annotations(key: ObjectKey) -> Mapping[str, str]:
    """The annotations that define what Pulumi waits for when it creates or deletes the object."""
    if key.kind == CRD.kind:
        return {"pulumi.com/waitFor": "condition=Established"}
    if key.kind in (STATEFUL_SET.kind, DEPLOYMENT.kind):
        # Wait only until the workload exists. It becomes ready only after the CRDs exist, and Pulumi creates
        # the CRDs later. `skipAwait` is no alternative: if Pulumi replaced the workload, it would not wait
        # for the deletion of the old one.
        return {"pulumi.com/waitFor": "jsonpath={.metadata.uid}"}
    # By default, Pulumi waits until a namespace is deleted. Keep this default, because the next installation
    # would fail while the namespace is still terminating.
    return {} if key.kind == NAMESPACE.kind else NO_AWAIT
