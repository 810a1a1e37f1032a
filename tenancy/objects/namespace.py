"""The Namespace of a tenant, with the labels that everything else selects by."""

from typing import Final

from tenancy.base.manifest import Manifest
from tenancy.base.names import (
    CORDONED_LABEL,
    DISPLAY_NAME_ANNOTATION,
    ISTIO_LABEL,
    NODE_SELECTOR_ANNOTATION,
    PLAN_LABEL,
    POLICY_PREFIX,
    PURPOSE_LABEL,
    USER_ID_LABEL,
    USERNAME_LABEL,
    label_value,
    object_labels,
)
from tenancy.objects.policy_annotations import policy_annotations
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import NamespaceSpec, Tenant


def namespace(tenant: Tenant, settings: TenantSettings, name: str, given: NamespaceSpec | None) -> Manifest:
    spec = tenant.spec
    labels = {
        **object_labels(tenant.name),
        PLAN_LABEL: spec.plan,
        ISTIO_LABEL: "enabled" if settings.istio.enabled else "disabled",
    }
    if spec.username is not None:
        labels[USERNAME_LABEL] = label_value(spec.username)
    if spec.user_id is not None:
        labels[USER_ID_LABEL] = label_value(spec.user_id)
    if given is not None:
        labels[PURPOSE_LABEL] = given.purpose.value
    if spec.cordoned:
        labels[CORDONED_LABEL] = "true"
    for mode in ("enforce", "audit", "warn"):
        labels[f"pod-security.kubernetes.io/{mode}"] = settings.pod_security.value
        # Named, so that nobody can loosen the level by pinning an old version of it.
        labels[f"pod-security.kubernetes.io/{mode}-version"] = "latest"
    annotations = policy_annotations(tenant.name, settings) | {
        key: value
        for key, value in (
            (USERNAME_LABEL, spec.username),
            (USER_ID_LABEL, spec.user_id),
            (DISPLAY_NAME_ANNOTATION, spec.display_name),
        )
        if value is not None
    }
    metadata = {"name": name, "labels": labels}
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


_OWN_LABELS: Final = ("tenant.platform.ai/", "kleff.io/", "pod-security.kubernetes.io/", ISTIO_LABEL)
_OWN_ANNOTATIONS: Final = (
    POLICY_PREFIX,
    "platform.ai/",
    "kleff.io/",
    "pulumi.com/",
    NODE_SELECTOR_ANNOTATION,
)


def release_patch(live: Manifest) -> Manifest:
    """A merge patch that takes all that is ours off a namespace which stays; empty where there is nothing."""
    metadata = {
        field: found
        for field, own in (("labels", _OWN_LABELS), ("annotations", _OWN_ANNOTATIONS))
        if (found := {key: None for key in live["metadata"].get(field) or () if key.startswith(own)})
    }
    return {"metadata": metadata} if metadata else {}


def as_it_stands(live: Manifest) -> Manifest:
    """The namespace with all that is ours on it now."""
    metadata = {
        field: {key: live["metadata"][field][key] for key in ours}
        for field, ours in release_patch(live).get("metadata", {}).items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": live["metadata"]["name"], **metadata},
    }
