"""One ValidatingAdmissionPolicy and its binding, and the pieces of CEL that several of them share.

Used by the other admission modules, which say what is checked. The lists a tenant is allowed are read
where `policy_annotations` writes them: in the annotations of the namespace, here `variables.annotations`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tenancy.base.manifest import Manifest
from tenancy.base.names import MANAGED_LABEL, TENANT_LABEL

API_VERSION: Final = "admissionregistration.k8s.io/v1"
TENANT_NAMESPACES: Final = {"matchLabels": {MANAGED_LABEL: "true"}}
ANNOTATIONS: Final = {"annotations": "namespaceObject.metadata.?annotations.orValue({})"}
# The tenant whose namespace it is.
TENANT_NAME: Final = f"namespaceObject.metadata.?labels[?'{TENANT_LABEL}'].orValue('')"
# A finalizer must come off whatever the spec says, or nothing of the tenant's could ever be deleted.
SPEC_IS_NEW: Final = "request.operation == 'CREATE' || object.spec != oldObject.spec"

# The controllers of Kubernetes that write what is managed. None that makes objects from a template:
# a label forged in a template would come through it.
_CONTROLLERS: Final = (
    "namespace-controller",
    "generic-garbage-collector",
    "resourcequota-controller",
    "disruption-controller",
    "endpoint-controller",
    "endpointslice-controller",
    "endpointslicemirroring-controller",
    "service-controller",
    "cloud-controller-manager",
)
KUBERNETES: Final = (
    "system:apiserver",
    "system:kube-controller-manager",
    *(f"system:serviceaccount:kube-system:{name}" for name in _CONTROLLERS),
)


def policy(
    name: str,
    rules: list[Manifest],
    checks: list[Manifest],
    *,
    variables: Mapping[str, str] | None = None,
    conditions: Mapping[str, str] | None = None,
    namespaces: Manifest | None = None,
) -> list[Manifest]:
    """The policy, and the binding that puts it in force. `conditions` say when there is anything to check."""
    match: Manifest = {"resourceRules": rules}
    if namespaces:
        match["namespaceSelector"] = namespaces
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": match,
        "matchConditions": _named(conditions or {}),
        "variables": _named(variables or {}),
        "validations": checks,
    }
    metadata = {"name": name}
    return [
        {"apiVersion": API_VERSION, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": spec},
        binding(name, name),
    ]


def binding(name: str, policy_name: str, **match: Any) -> Manifest:
    spec: Manifest = {"policyName": policy_name, "validationActions": ["Deny"]}
    if match:
        spec["matchResources"] = match
    kind = "ValidatingAdmissionPolicyBinding"
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def rule(
    group: str, *resources: str, operations: Iterable[str] = ("CREATE", "UPDATE"), version: str = "v1"
) -> Manifest:
    """Which requests are meant. With the version named, the API server checks the CEL's types."""
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": list(resources),
        "operations": list(operations),
    }


def check(expression: str, told: str, reason: str = "Invalid") -> Manifest:
    """What must hold, and the CEL of the text for who breaks it."""
    return {"expression": expression, "messageExpression": told, "reason": reason}


def text(words: str) -> str:
    """Words as a CEL string."""
    return json.dumps(words, ensure_ascii=False)


def sender_is(users: Iterable[str], groups: Iterable[str] = ()) -> str:
    """Whether the request comes from one of these."""
    return (
        f"(request.userInfo.username in {_list(users)} || "
        f"request.userInfo.?groups.orValue([]).exists(g, g in {_list(groups)}))"
    )


def is_listed(value: str, annotation: str) -> str:
    """Whether the namespace's list names this value; all are allowed where there is no list."""
    items = f"variables.annotations['{annotation}']"
    return f"!('{annotation}' in variables.annotations) || {items} != '' && {value} in {items}.split(',')"


def items_of(annotation: str) -> str:
    """The namespace's list; an empty one where there is none."""
    items = f"variables.annotations[?'{annotation}'].orValue('')"
    return f"{items} == '' ? [] : {items}.split(',')"


def told_list(annotation: str) -> str:
    """The end of a text: what is allowed."""
    items = f"variables.annotations[?'{annotation}'].orValue('')"
    return f"'; allowed: ' + ({items} == '' ? 'none' : {items}.split(',').join(', '))"


def list_check(field: str, value: str, annotation: str) -> Manifest:
    """The check of a field that takes one value, against the list in this annotation."""
    told = f'"{field}: \'" + {value} + "\' is not allowed for this tenant" + {told_list(annotation)}'
    return check(is_listed(value, annotation), told)


def _named(expressions: Mapping[str, str]) -> list[Manifest]:
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def _list(values: Iterable[str]) -> str:
    return json.dumps(list(values))
