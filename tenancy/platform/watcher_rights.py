"""The watcher's ServiceAccount and RBAC.

The watcher has only the rights that it uses. In the namespaces of tenants, it has rights on three groups of
kinds:

- the kinds of the objects that the platform creates for tenants
- AISessions
- the Jobs, pods and Events of AISessions

The rules for the first group are derived from the tables of kinds in `tenancy.base.kinds`, so they include
new kinds automatically.
"""

from typing import Any, Final

from tenancy.base.kinds import (
    CRD,
    MANAGED_KINDS,
    OPTIONAL_KINDS,
    POD_METRICS,
    SUBJECT_ACCESS_REVIEW,
    TOKEN_REVIEW,
)
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE, WATCHER
from tenancy.objects.roles import API_GROUP, API_VERSION, role_name
from tenancy.platform.watcher_session_rights import session_rules
from tenancy.spec.access import AccessRole

Rules = list[dict[str, Any]]

_MANAGE: Final = ["get", "list", "watch", "create", "patch", "delete"]
_SUBJECTS: Final = [{"kind": "ServiceAccount", "name": WATCHER, "namespace": SYSTEM_NAMESPACE}]
_ROLE_NAMES: Final = [role_name(role) for role in AccessRole]
_PLANS_RULES: Final = [
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "verbs": ["get", "list", "watch"],
        "resourceNames": [PLANS_CONFIG_MAP],
    },
]


def watcher_rbac() -> list[Manifest]:
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": WATCHER, "namespace": SYSTEM_NAMESPACE},
        },
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterRole",
            "metadata": {"name": WATCHER},
            "rules": _cluster_rules(),
        },
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": WATCHER},
            "roleRef": {"apiGroup": API_GROUP, "kind": "ClusterRole", "name": WATCHER},
            "subjects": _SUBJECTS,
        },
        *_role(SYSTEM_NAMESPACE, _PLANS_RULES),
    ]


def _role(namespace: str, rules: Rules) -> list[Manifest]:
    """A Role and a RoleBinding of the watcher in one of the platform's namespaces."""
    metadata = {"name": WATCHER, "namespace": namespace}
    return [
        {"apiVersion": API_VERSION, "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": API_VERSION,
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": API_GROUP, "kind": "Role", "name": WATCHER},
            "subjects": _SUBJECTS,
        },
    ]


def _cluster_rules() -> Rules:
    return [
        {
            "apiGroups": list(GROUPS),
            "resources": ["tenants"],
            "verbs": ["get", "list", "watch", "patch"],
        },
        {"apiGroups": list(GROUPS), "resources": ["tenants/status"], "verbs": ["patch"]},
        *_managed_rules(),
        *session_rules(),
        {
            # HNC allows a user to add a child namespace only if the user has this right in the parent
            # namespace.
            "apiGroups": ["hnc.x-k8s.io"],
            "resources": ["hierarchyconfigurations"],
            "verbs": ["update"],
        },
        {
            # RBAC allows users to grant only rights that they have. These verbs let the watcher grant other
            # rights too, but only with the three Roles of tenants.
            "apiGroups": [API_GROUP],
            "resources": ["roles"],
            "verbs": ["escalate", "bind"],
            "resourceNames": _ROLE_NAMES,
        },
        {
            # The watcher detects added and removed integrations by their CRDs. If a Tenant is deleted, the
            # watcher checks whether somebody deleted the Tenant or its CRD.
            "apiGroups": [CRD.group],
            "resources": [CRD.plural],
            "verbs": ["get", "list", "watch"],
        },
        # This API group exposes only the resource usage of pods, not the pods themselves.
        {"apiGroups": [POD_METRICS.group], "resources": [POD_METRICS.plural], "verbs": ["list"]},
        # The watcher uses these reviews to authenticate and authorize the users of its web page.
        *(
            {"apiGroups": [review.group], "resources": [review.plural], "verbs": ["create"]}
            for review in (TOKEN_REVIEW, SUBJECT_ACCESS_REVIEW)
        ),
    ]


def _managed_rules() -> Rules:
    plurals: dict[str, list[str]] = {}
    for kind in (*MANAGED_KINDS, *OPTIONAL_KINDS):
        plurals.setdefault(kind.group, []).append(kind.plural)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": _MANAGE}
        for group, resources in plurals.items()
    ]
