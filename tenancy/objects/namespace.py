"""The Namespace objects of a tenant.

Admission policies, NetworkPolicies and Istio use the labels and annotations of these Namespaces.
"""

from typing import Final

from tenancy.base.labels import (
    CORDONED_LABEL,
    DISPLAY_NAME_ANNOTATION,
    ISTIO_LABEL,
    NAMESPACE_ANNOTATION_PREFIXES,
    NAMESPACE_LABEL_PREFIXES,
    NODE_SELECTOR_ANNOTATION,
    PLAN_LABEL,
    PURPOSE_LABEL,
    USER_ID_LABEL,
    USERNAME_LABEL,
    label_value,
    object_labels,
)
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import policy_annotations
from tenancy.spec.namespace_spec import NamespaceSpec
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import TenantModel


def namespace_object(
    tenant: TenantModel, settings: TenantSettings, name: str, namespace_spec: NamespaceSpec | None
) -> Manifest:
    """A Namespace of the tenant. `name` is its full name, such as `tenant-acme-dev`.

    `namespace_spec` is the item of `spec.namespaces`. It is None for the default namespace.
    """
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
    if namespace_spec is not None:
        labels[PURPOSE_LABEL] = namespace_spec.purpose.value
    if spec.cordoned:
        labels[CORDONED_LABEL] = "true"
    for mode in ("enforce", "audit", "warn"):
        labels[f"pod-security.kubernetes.io/{mode}"] = settings.pod_security.value
        # Older versions of Pod Security may be less strict. The label is set here, so that a change of it is
        # drift.
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


# Prefixes of the labels and annotations that `release_patch` removes.
_MANAGED_LABELS: Final = NAMESPACE_LABEL_PREFIXES
_MANAGED_ANNOTATIONS: Final = (*NAMESPACE_ANNOTATION_PREFIXES, "pulumi.com/", NODE_SELECTOR_ANNOTATION)


def release_patch(live: Manifest) -> Manifest:
    """A merge patch that removes the platform's labels and annotations from a live namespace.

    The patch is empty if the namespace has no such labels and annotations.
    """
    metadata = {
        field: removals
        for field, prefixes in (("labels", _MANAGED_LABELS), ("annotations", _MANAGED_ANNOTATIONS))
        if (removals := {key: None for key in live["metadata"].get(field) or () if key.startswith(prefixes)})
    }
    return {"metadata": metadata} if metadata else {}


def with_managed_metadata_only(live: Manifest) -> Manifest:
    """A copy of a live namespace that contains only its name and the platform's labels and annotations."""
    metadata = {
        field: {key: live["metadata"][field][key] for key in managed_keys}
        for field, managed_keys in release_patch(live).get("metadata", {}).items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": live["metadata"]["name"], **metadata},
    }
