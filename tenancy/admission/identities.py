"""Admission policies that stop a tenant's user from getting the rights of somebody else.

Kubernetes lets everybody who can create pods use every ServiceAccount of the namespace. These policies allow
a ServiceAccount only to senders that have its rights themselves.
"""

from typing import Final

from tenancy.admission.policy_builder import SYSTEM, TENANT_NAMESPACES, cel_string, check, policy, rule
from tenancy.base.kinds import RBAC_GROUP
from tenancy.base.manifest import Manifest

# The rights that the policies compare: group, resource, verb, and whether the right is for all namespaces.
# They are the rights that a tenant's admin has and an operator lacks, and rights outside the tenant. The API
# server allows two authorization checks in one expression, and about 28 in one policy.
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
    """`is_platform` is a CEL expression. It is true if the sender may change managed objects."""
    others = {"others": f"!{SYSTEM}", "not-the-platform": f"!{is_platform}"}
    return [*_accounts_of_pods(others), *_token_secrets(others), *_role_bindings(others)]


def _accounts_of_pods(conditions: dict[str, str]) -> list[Manifest]:
    """The policy for pods and pod templates. Controllers create pods only from templates that it has checked.

    A user who changes a pod or a template decides what runs with the rights of the account. So the policy
    also checks changes that keep the account.
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
            # Kubernetes also accepts the old name of the field.
            "name": "variables.pod.?serviceAccountName.orValue(variables.pod.?serviceAccount.orValue(''))",
            "account": "variables.name == '' ? 'default' : variables.name",
        },
        conditions=conditions,
        namespaces=TENANT_NAMESPACES,
    )


def _pod_spec(version: str) -> str:
    """CEL: the pod spec in `object` or `oldObject`. It is empty if there is none."""
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
    """The policy for Secrets that Kubernetes fills with a token of a ServiceAccount."""
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


def _account_checks(field: str, unless: str = "") -> list[Manifest]:
    """One check for each compared right: the account lacks the right, or the sender has it."""
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
    """The policy for RoleBindings: they must not name groups that users of other tenants belong to."""
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
