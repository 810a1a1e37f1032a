"""Admission policies that prevent a tenant's user from getting the rights of another user.

In Kubernetes, everybody who can create pods in a namespace can use every ServiceAccount of this namespace.
With these policies, the sender of a request can use a ServiceAccount only if the sender has the same rights
as the ServiceAccount. The policies compare only the rights in `COMPARED_RIGHTS`.
"""

from typing import Final

from tenancy.admission.policy_builder import SYSTEM, TENANT_NAMESPACES, cel_string, check, policy, rule
from tenancy.base.kinds import RBAC_GROUP
from tenancy.base.manifest import Manifest

# The rights that the policies compare: API group, resource, verb, and whether the right is for all
# namespaces. The rights in one namespace are rights that a tenant's admin has and an operator lacks.
# The list is short, because the API server allows only two authorization checks in one expression, and about
# 28 in one policy.
COMPARED_RIGHTS: Final = (
    ("", "limitranges", "create", False),
    ("", "persistentvolumeclaims", "create", False),
    ("", "podtemplates", "create", False),
    ("", "secrets", "get", False),
    ("", "serviceaccounts", "create", False),
    ("networking.k8s.io", "ingresses", "create", False),
    ("networking.k8s.io", "networkpolicies", "create", False),
    ("policy", "poddisruptionbudgets", "create", False),
    (RBAC_GROUP, "roles", "create", False),
    (RBAC_GROUP, "rolebindings", "create", False),
    ("", "secrets", "list", True),
    ("", "pods", "create", True),
    (RBAC_GROUP, "clusterrolebindings", "create", True),
)
_TOKEN_TYPE: Final = "kubernetes.io/service-account-token"
_ACCOUNT_ANNOTATION: Final = "kubernetes.io/service-account.name"
# The resources with a pod template, by API group.
_TEMPLATES: Final = {
    "": ("podtemplates", "replicationcontrollers"),
    "apps": ("controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"),
    "batch": ("cronjobs", "jobs"),
}


def identity_policies(is_platform: str) -> list[Manifest]:
    """The policies for the ServiceAccounts of pods, for tokens of ServiceAccounts and for RoleBindings.

    `is_platform` is a CEL expression. It is true if the sender may change managed objects.
    """
    others = {"others": f"!{SYSTEM}", "not-the-platform": f"!{is_platform}"}
    return [
        *_accounts_of_pods(others),
        *_token_secrets(others),
        *_token_requests(others),
        *_role_bindings(others),
    ]


def _accounts_of_pods(conditions: dict[str, str]) -> list[Manifest]:
    """The policy for the ServiceAccounts of pods and pod templates.

    The policy does not check pods that Kubernetes controllers create, because it has already checked the
    templates of these pods. A user who changes a pod or a template decides which program runs with the rights
    of the ServiceAccount. So the policy checks every change of a pod spec, even if the ServiceAccount stays
    the same.
    """
    return policy(
        "tenancy-pod-accounts",
        [
            rule("", "pods", "pods/ephemeralcontainers"),
            *(rule(group, *resources) for group, resources in _TEMPLATES.items()),
        ],
        _account_checks("spec.serviceAccountName", "variables.is_same || "),
        variables={
            "pod": _pod_spec("object"),
            "is_same": f"oldObject != null && variables.pod == {_pod_spec('oldObject')}",
            # Kubernetes also accepts the old name of the field, `serviceAccount`.
            "name": "variables.pod.?serviceAccountName.orValue(variables.pod.?serviceAccount.orValue(''))",
            "account": "variables.name == '' ? 'default' : variables.name",
        },
        conditions=conditions,
        namespaces=TENANT_NAMESPACES,
    )


def _pod_spec(version: str) -> str:
    """A CEL expression that returns the pod spec in `object` or `oldObject`, or an empty map."""
    paths = (
        "spec.jobTemplate.spec.template.spec",
        "spec.template.spec",
        "template.spec",
        "data.spec.template.spec",
    )
    optional_paths = [f"dyn({version}).?{path.replace('.', '.?')}" for path in paths]
    templates = f"{optional_paths[0]}{''.join(f'.or({path})' for path in optional_paths[1:])}"
    return f"(request.resource.resource == 'pods' ? dyn({version}).spec : {templates}.orValue({{}}))"


def _token_secrets(conditions: dict[str, str]) -> list[Manifest]:
    """The policy for Secrets of type `kubernetes.io/service-account-token`.

    Kubernetes writes a token of a ServiceAccount into such a Secret.
    """
    return policy(
        "tenancy-token-secrets",
        [rule("", "secrets")],
        _account_checks(f"metadata.annotations[{_ACCOUNT_ANNOTATION}]"),
        variables={"account": f"object.metadata.?annotations[?'{_ACCOUNT_ANNOTATION}'].orValue('')"},
        conditions={
            **conditions,
            "is-token": f"object.?type.orValue('') == '{_TOKEN_TYPE}'",
            "names-an-account": f"object.metadata.?annotations[?'{_ACCOUNT_ANNOTATION}'].orValue('') != ''",
        },
        namespaces=TENANT_NAMESPACES,
    )


def _token_requests(conditions: dict[str, str]) -> list[Manifest]:
    """The policy for `serviceaccounts/token`. A request to this subresource returns a token.

    By default, no role of a tenant has this right. The setting `roles` can grant it.
    """
    return policy(
        "tenancy-token-requests",
        [rule("", "serviceaccounts/token", operations=["CREATE"])],
        _account_checks("metadata.name"),
        variables={"account": "request.name"},
        conditions=conditions,
        namespaces=TENANT_NAMESPACES,
    )


def _account_checks(field: str, unless: str = "") -> list[Manifest]:
    """One check for each item of `COMPARED_RIGHTS`.

    A check passes if the ServiceAccount lacks the right, or the sender has it. `field` is the path of the
    field that names the ServiceAccount. `unless` is empty, or a CEL condition followed by `||`. If the
    condition is true, all checks pass.
    """
    return [
        check(
            f"{unless}!{_has('authorizer.serviceAccount(request.namespace, variables.account)', *right)} || "
            f"{_has('authorizer', *right)}",
            f"'{field}: ServiceAccount ' + variables.account + ' has rights that you lack, such as: "
            f"{right[2]} {right[1]}; use another ServiceAccount, or ask an admin of the tenant'",
            "Forbidden",
        )
        for right in COMPARED_RIGHTS
    ]


def _has(subject: str, group: str, resource: str, verb: str, is_everywhere: bool) -> str:
    namespace = "" if is_everywhere else ".namespace(request.namespace)"
    return f"{subject}.group('{group}').resource('{resource}'){namespace}.check('{verb}').allowed()"


def _role_bindings(conditions: dict[str, str]) -> list[Manifest]:
    """The policy for RoleBindings. It rejects `system:` groups and the user `system:anonymous` as subjects.

    Users of other tenants also belong to these groups.
    """
    return policy(
        "tenancy-role-bindings",
        [rule(RBAC_GROUP, "rolebindings")],
        [
            check(
                "object.?subjects.orValue([]).all(s, !(s.kind == 'Group' && s.name.startsWith('system:')) && "
                "!(s.kind == 'User' && s.name == 'system:anonymous'))",
                cel_string(
                    "subjects: a tenant must not grant rights to system: groups or to system:anonymous, "
                    "because users of other tenants belong to them; name users, groups or ServiceAccounts"
                ),
                "Forbidden",
            )
        ],
        conditions={
            **conditions,
            "subjects-are-new": "request.operation == 'CREATE' || "
            "object.?subjects.orValue([]) != oldObject.?subjects.orValue([])",
        },
        namespaces=TENANT_NAMESPACES,
    )
