"""Builds ValidatingAdmissionPolicies, their bindings, and CEL expressions that several policies use.

A tenant's allow lists, such as its image registries, are annotations of its namespaces (see
`tenancy.objects.policy_annotations`). CEL expressions read these annotations from `variables.annotations`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tenancy.base.kinds import Kind
from tenancy.base.labels import MANAGED_LABEL, TENANT_LABEL
from tenancy.base.manifest import Manifest

API_VERSION: Final = "admissionregistration.k8s.io/v1"
WRITES: Final = ("CREATE", "UPDATE", "DELETE")
TENANT_NAMESPACES: Final = {"matchLabels": {MANAGED_LABEL: "true"}}
ANNOTATIONS: Final = {"annotations": "namespaceObject.metadata.?annotations.orValue({})"}
# CEL: the name of the tenant that owns the namespace of the request, or an empty string.
TENANT_NAME: Final = f"namespaceObject.metadata.?labels[?'{TENANT_LABEL}'].orValue('')"
# CEL: whether the request creates an object or changes its spec. Policies with this condition do not check
# other requests. For example, users must be able to remove a finalizer from an object whose spec violates a
# newer policy.
SPEC_IS_NEW: Final = "request.operation == 'CREATE' || object.spec != oldObject.spec"

# The Kubernetes controllers that may write managed objects. The list does not contain controllers that create
# objects from a template, such as the Job controller. A tenant could put a platform label into the template.
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
# The PriorityClasses of Kubernetes' own components.
SYSTEM_CLASSES: Final = ("system-cluster-critical", "system-node-critical")
# The components of Kubernetes that write objects in all namespaces: the API server, the scheduler, kubelets,
# and all controllers. The policies treat cluster administrators in the same way.
_SYSTEM_USERS: Final = (*KUBERNETES, "system:kube-scheduler")
_SYSTEM_GROUPS: Final = ("system:nodes", "system:masters", "system:serviceaccounts:kube-system")


def policy(
    name: str,
    rules: list[Manifest],
    checks: list[Manifest],
    *,
    variables: Mapping[str, str] | None = None,
    conditions: Mapping[str, str] | None = None,
    namespaces: Manifest | None = None,
    parameters: Kind | None = None,
    parameter_name: str = "",
) -> list[Manifest]:
    """A ValidatingAdmissionPolicy and its binding.

    `variables` and `conditions` map names to CEL expressions. The API server evaluates `checks` only if all
    `conditions` are true for the request. `namespaces` is a label selector. If `namespaces` is None, the
    policy applies to all namespaces.

    If `parameters` is set, the API server evaluates `checks` once for each object of this kind. The CEL
    variable `params` contains the object. If `parameter_name` is also set, only the cluster-scoped object
    with this name is used. If that object does not exist, the API server rejects all requests.
    """
    match: Manifest = {"resourceRules": rules}
    if namespaces:
        match["namespaceSelector"] = namespaces
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": match,
        "matchConditions": named_expressions(conditions or {}),
        "variables": named_expressions(variables or {}),
        "validations": checks,
    }
    parameter_reference: Manifest = {}
    if parameters:
        spec["paramKind"] = {"apiVersion": parameters.api_version, "kind": parameters.kind}
        parameter_reference = (
            {"name": parameter_name, "parameterNotFoundAction": "Deny"}
            if parameter_name
            else {"selector": {}, "parameterNotFoundAction": "Allow"}
        )
    metadata = {"name": name}
    return [
        {"apiVersion": API_VERSION, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": spec},
        binding(name, name, parameter_reference),
    ]


def binding(
    name: str, policy_name: str, parameter_reference: Manifest | None = None, **match: Any
) -> Manifest:
    spec: Manifest = {"policyName": policy_name, "validationActions": ["Deny"]}
    if parameter_reference:
        spec["paramRef"] = parameter_reference
    if match:
        spec["matchResources"] = match
    kind = "ValidatingAdmissionPolicyBinding"
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def rule(
    group: str, *resources: str, operations: Iterable[str] = ("CREATE", "UPDATE"), version: str = "v1"
) -> Manifest:
    """An item of `matchConstraints.resourceRules` of a policy.

    If `version` is `*`, the API server does not type-check the CEL expressions of the policy.
    """
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": list(resources),
        "operations": list(operations),
    }


def check(expression: str, message: str, reason: str = "Invalid") -> Manifest:
    """An item of `validations` of a policy. The API server rejects a request if `expression` is false.

    `expression` and `message` are CEL expressions. `message` returns the error message. `reason` is the
    reason in the API server's response.
    """
    return {"expression": expression, "messageExpression": message, "reason": reason}


def cel_string(value: str) -> str:
    """The value as a CEL string literal."""
    return json.dumps(value, ensure_ascii=False)


def sender_is(users: Iterable[str], groups: Iterable[str] = ()) -> str:
    """A CEL expression that is true if the sender is one of these users or belongs to one of these groups."""
    return (
        f"(request.userInfo.username in {_cel_list(users)} || "
        f"request.userInfo.?groups.orValue([]).exists(g, g in {_cel_list(groups)}))"
    )


def metadata_map(version: str, field: str) -> str:
    """A CEL expression that returns the labels or annotations of an object, or an empty map.

    `version` is `object` or `oldObject`. `field` is `labels` or `annotations`.
    """
    return f"({version} == null ? {{}} : {version}.?metadata.?{field}.orValue({{}}))"


def holds_everywhere(group: str, resource: str, verb: str, subresource: str = "") -> str:
    """A CEL expression that is true if the sender has this right in all namespaces.

    Controllers of other projects and cluster administrators have such rights. A tenant's users have rights
    only in the namespaces of the tenant.
    """
    part = f".subresource('{subresource}')" if subresource else ""
    return f"authorizer.group('{group}').resource('{resource}'){part}.check('{verb}').allowed()"


def is_listed(value: str, annotation: str) -> str:
    """A CEL expression that is true if the allow list in this annotation contains the value.

    If the namespace does not have the annotation, every value is allowed, and the expression is true.
    """
    items = f"variables.annotations['{annotation}']"
    return f"!('{annotation}' in variables.annotations) || {items} != '' && {value} in {items}.split(',')"


def annotation_items(annotation: str) -> str:
    """A CEL expression that returns the allow list in this annotation.

    The list is empty if the namespace lacks the annotation.
    """
    items = f"variables.annotations[?'{annotation}'].orValue('')"
    return f"{items} == '' ? [] : {items}.split(',')"


def allowed_suffix(annotation: str) -> str:
    """A CEL expression that returns the end of an error message, such as `; allowed: nginx, traefik`."""
    items = f"variables.annotations[?'{annotation}'].orValue('')"
    return f"'; allowed: ' + ({items} == '' ? 'none' : {items}.split(',').join(', '))"


def list_check(field: str, value: str, annotation: str) -> Manifest:
    """A check that the allow list in this annotation contains the value of a field.

    `field` is the path of the field. The error message contains this path. `value` is a CEL expression that
    returns the value of the field.
    """
    message = f'"{field}: \'" + {value} + "\' is not allowed for this tenant" + {allowed_suffix(annotation)}'
    return check(is_listed(value, annotation), message)


def named_expressions(expressions: Mapping[str, str]) -> list[Manifest]:
    """CEL expressions in the format of the policy fields `variables` and `matchConditions`.

    The keys of `expressions` are the names of the expressions.
    """
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def _cel_list(values: Iterable[str]) -> str:
    return json.dumps(list(values))


# CEL: whether the sender is a component of Kubernetes.
SYSTEM: Final = sender_is(_SYSTEM_USERS, _SYSTEM_GROUPS)
