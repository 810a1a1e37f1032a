"""Admission policies that allow only the platform to change managed objects.

A managed object has the label `tenant.platform.ai/managed=true`. The namespaces of tenants are also managed
objects. Only some labels and annotations of a namespace are reserved for the platform. Users may change all
other labels and annotations of the namespace.
"""

from collections.abc import Callable
from typing import Final

from tenancy.admission.policy_builder import WRITES, binding, cel_string, check, metadata_map, policy, rule
from tenancy.base.labels import (
    CORDONED_LABEL,
    ISTIO_LABEL,
    MANAGED_LABEL,
    NODE_SELECTOR_ANNOTATION,
    POLICY_PREFIX,
    PURPOSE_LABEL,
    TENANT_LABEL,
)
from tenancy.base.manifest import Manifest

_PREFIX: Final = "tenant.platform.ai/"
_LABELS: Final = (MANAGED_LABEL, TENANT_LABEL, PURPOSE_LABEL, CORDONED_LABEL)
_PLATFORM_PREFIXES: Final = (
    _PREFIX,
    "kleff.io/",
    "platform.ai/",
    POLICY_PREFIX,
    "pod-security.kubernetes.io/",
)
_PLATFORM_KEYS: Final = (ISTIO_LABEL, NODE_SELECTOR_ANNOTATION)


def managed_object_policies(is_platform: str) -> list[Manifest]:
    """The policies for managed objects and for the namespaces of tenants.

    `is_platform` is a CEL expression. It is true if the sender of the request may change managed objects.
    """
    return [*_managed_objects(is_platform), *_managed_namespaces(is_platform)]


def _managed_objects(is_platform: str) -> list[Manifest]:
    name = "tenancy-managed-objects"
    managed_policy, _ = policy(
        name,
        [rule("*", "*/*", operations=WRITES, version="*")],
        [
            check(
                f"{_is_not_managed('variables.before')} && {_is_not_managed('variables.after')}",
                cel_string(
                    f"metadata.labels: only the platform sets {MANAGED_LABEL}=true and changes objects with "
                    "this label; change the Tenant instead"
                ),
                "Forbidden",
            ),
            check(
                f"request.operation == 'DELETE' || {_same_values('before', 'after', _is_tenant_label)}",
                cel_string(
                    f"metadata.labels: only the platform sets labels {_PREFIX}*; "
                    "do not add, change or remove them"
                ),
                "Forbidden",
            ),
        ],
        variables=_BEFORE_AND_AFTER,
        conditions={
            "others": f"!{is_platform}",
            "not-a-namespace": "request.resource.resource != 'namespaces'",
        },
    )
    # The API server evaluates the object selector of a binding before it evaluates CEL. So it evaluates no
    # CEL for objects without these labels.
    return [
        managed_policy,
        *(
            binding(f"{name}-{label.removeprefix(_PREFIX)}", name, objectSelector=_selector(label))
            for label in _LABELS
        ),
    ]


def _managed_namespaces(is_platform: str) -> list[Manifest]:
    """The policy for tenants' namespaces.

    This policy is less strict than the policy of `_managed_objects`. Users may change labels and annotations
    that are not reserved for the platform.
    """
    platform_keys = f"{', '.join(f'{prefix}*' for prefix in _PLATFORM_PREFIXES)}, {', '.join(_PLATFORM_KEYS)}"
    message = f"in a tenant's namespace, only the platform changes {platform_keys}; change the Tenant instead"
    return policy(
        "tenancy-managed-namespaces",
        [rule("", "namespaces", "namespaces/status", "namespaces/finalize", operations=WRITES)],
        [
            check(
                f"request.operation != 'DELETE' || {_is_not_managed('variables.before')}",
                "'metadata.name: namespace ' + request.name + ' belongs to tenant ' + "
                f"variables.before[?'{TENANT_LABEL}'].orValue('') + "
                "'; to delete the namespace, change or delete the Tenant'",
                "Forbidden",
            ),
            check(
                f"request.operation == 'DELETE' || {_same_values('before', 'after', _is_platform_key)}",
                cel_string(f"metadata.labels: {message}"),
                "Forbidden",
            ),
            check(
                "request.operation != 'UPDATE' || "
                f"{_same_values('noted_before', 'noted_after', _is_platform_key)}",
                cel_string(f"metadata.annotations: {message}"),
                "Forbidden",
            ),
            check(
                "request.operation != 'UPDATE' || "
                "object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences",
                cel_string(
                    "metadata.ownerReferences: must not change in a tenant's namespace, because Kubernetes "
                    "would delete the namespace together with its owner"
                ),
                "Forbidden",
            ),
        ],
        variables={
            **_BEFORE_AND_AFTER,
            "noted_before": metadata_map("oldObject", "annotations"),
            "noted_after": metadata_map("object", "annotations"),
        },
        conditions={
            "others": f"!{is_platform}",
            "is-a-tenants": " || ".join(
                f"{metadata_map(which, 'labels')}.exists(k, {_is_tenant_label('k')})"
                for which in ("oldObject", "object")
            ),
        },
    )


_BEFORE_AND_AFTER: Final = {
    "before": metadata_map("oldObject", "labels"),
    "after": metadata_map("object", "labels"),
}


def _is_not_managed(labels: str) -> str:
    return f"{labels}[?'{MANAGED_LABEL}'].orValue('') != 'true'"


def _is_tenant_label(key: str) -> str:
    return f"{key}.startsWith('{_PREFIX}')"


def _is_platform_key(key: str) -> str:
    return " || ".join(
        [
            *(f"{key}.startsWith('{prefix}')" for prefix in _PLATFORM_PREFIXES),
            f"{key} in {list(_PLATFORM_KEYS)}",
        ]
    )


def _same_values(before: str, after: str, is_relevant: Callable[[str], str]) -> str:
    """A CEL expression that is true if two maps have the same relevant keys with the same values.

    `before` and `after` are CEL variables with the maps. The argument of `is_relevant` is the name of a CEL
    variable that contains a key. `is_relevant` returns a CEL expression that is true if the key is relevant.
    """
    old, new = f"variables.{before}", f"variables.{after}"
    return (
        f"({new}.all(k, !({is_relevant('k')}) || k in {old} && {old}[k] == {new}[k]) && "
        f"{old}.all(k, !({is_relevant('k')}) || k in {new}))"
    )


def _selector(label: str) -> Manifest:
    return {"matchExpressions": [{"key": label, "operator": "Exists"}]}
