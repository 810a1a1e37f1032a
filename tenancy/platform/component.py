"""The ComponentResource of the platform itself, for `pulumi up --stack platform`.

Used by `__main__.py`. It decides in which order things go: the Tenants' CRDs come last and are the first to
be deleted. Where that is refused because there are tenants, a destroy has changed nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import pulumi

from tenancy.base.kinds import CRD, NAMESPACE, TENANTS
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.component import NO_AWAIT, kubernetes_object

_TENANT_CRDS: Final = tuple(kind.crd for kind in TENANTS)


class PlatformResources(pulumi.ComponentResource):
    """Everything the platform is made of, as one node in the stack's tree."""

    def __init__(
        self, name: str, manifests: Sequence[Manifest], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("tenancy:index:Platform", name, None, opts)
        namespaces: dict[str, pulumi.Resource] = {}
        made: list[pulumi.Resource] = []
        for key, manifest in sorted(map(_keyed, manifests), key=_stage):
            options = pulumi.ResourceOptions(parent=self)
            if home := namespaces.get(key.namespace):
                options.depends_on = [home]
                options.deleted_with = home
            if key.kind == CRD.kind:
                # Also the watcher: it is still needed to release the tenants of a CRD that goes.
                options.depends_on = list(made)
            resource = kubernetes_object(key, manifest, options, _awaits(key))
            if key.kind == NAMESPACE.kind:
                namespaces[key.name] = resource
            if key.name not in _TENANT_CRDS:
                made.append(resource)
        self.register_outputs({"objects": len(manifests)})


def _keyed(manifest: Manifest) -> tuple[ObjectKey, Manifest]:
    return object_key(manifest), manifest


def _stage(entry: tuple[ObjectKey, Manifest]) -> int:
    key, _ = entry
    if key.kind == NAMESPACE.kind:
        return 0
    if key.kind != CRD.kind:
        return 1
    return 3 if key.name in _TENANT_CRDS else 2


def _awaits(key: ObjectKey) -> Mapping[str, str]:
    """What an update waits for."""
    if key.kind == CRD.kind:
        return {"pulumi.com/waitFor": "condition=Established"}
    if key.kind == "StatefulSet":
        # Only for its end, before another takes its place: it is ready not before the CRDs are there.
        return {"pulumi.com/waitFor": "jsonpath={.metadata.uid}"}
    # A namespace that is still ending would refuse the next install.
    return {} if key.kind == NAMESPACE.kind else NO_AWAIT
