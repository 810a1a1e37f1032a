"""What the platform itself needs in a cluster: the CRDs, and the watcher's identity and rights.

Pure manifests; whoever installs the platform applies them. The watcher holds no right that
it does not use, and none over the content of the namespaces it makes.
"""

from typing import Any, Final

from tenancy.admission import admission_manifests
from tenancy.crd import crds
from tenancy.kinds import CRD, MANAGED_KINDS, OPTIONAL_KINDS
from tenancy.manifest import Manifest
from tenancy.names import GROUPS
from tenancy.rbac import API_GROUP, API_VERSION, role_name
from tenancy.tenant import AccessRole

SYSTEM_NAMESPACE: Final = "tenancy-system"
WATCHER: Final = "tenancy-watcher"
# The plans in force, where they are not the shipped ones.
PLANS_CONFIG_MAP: Final = "tenancy-plans"
# Where Kubernetes keeps the events of objects that have no namespace.
EVENT_NAMESPACE: Final = "default"

_MANAGE: Final = ["get", "list", "watch", "create", "patch", "delete"]
_SUBJECTS: Final = [{"kind": "ServiceAccount", "name": WATCHER, "namespace": SYSTEM_NAMESPACE}]
_ROLE_NAMES: Final = [role_name(role) for role in AccessRole]


def platform_manifests() -> list[Manifest]:
    """In the order in which they are applied."""
    return [
        *crds(),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": WATCHER, "namespace": SYSTEM_NAMESPACE},
        },
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterRole",
            "metadata": {"name": WATCHER},
            "rules": _watcher_rules(),
        },
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": WATCHER},
            "roleRef": {"apiGroup": API_GROUP, "kind": "ClusterRole", "name": WATCHER},
            "subjects": _SUBJECTS,
        },
        {
            "apiVersion": API_VERSION,
            "kind": "Role",
            "metadata": {"name": WATCHER, "namespace": EVENT_NAMESPACE},
            "rules": [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}],
        },
        {
            "apiVersion": API_VERSION,
            "kind": "RoleBinding",
            "metadata": {"name": WATCHER, "namespace": EVENT_NAMESPACE},
            "roleRef": {"apiGroup": API_GROUP, "kind": "Role", "name": WATCHER},
            "subjects": _SUBJECTS,
        },
        {
            "apiVersion": API_VERSION,
            "kind": "Role",
            "metadata": {"name": WATCHER, "namespace": SYSTEM_NAMESPACE},
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["configmaps"],
                    "verbs": ["get", "list", "watch"],
                    "resourceNames": [PLANS_CONFIG_MAP],
                },
                {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
            ],
        },
        {
            "apiVersion": API_VERSION,
            "kind": "RoleBinding",
            "metadata": {"name": WATCHER, "namespace": SYSTEM_NAMESPACE},
            "roleRef": {"apiGroup": API_GROUP, "kind": "Role", "name": WATCHER},
            "subjects": _SUBJECTS,
        },
        *admission_manifests(f"system:serviceaccount:{SYSTEM_NAMESPACE}:{WATCHER}"),
    ]


def _watcher_rules() -> list[dict[str, Any]]:
    return [
        {
            "apiGroups": list(GROUPS),
            "resources": ["tenants"],
            "verbs": ["get", "list", "watch", "patch"],
        },
        {"apiGroups": list(GROUPS), "resources": ["tenants/status"], "verbs": ["patch"]},
        *_managed_rules(),
        {
            # HNC asks for this right in the parent before it lets anybody hang a namespace below it.
            "apiGroups": ["hnc.x-k8s.io"],
            "resources": ["hierarchyconfigurations"],
            "verbs": ["update"],
        },
        {
            # Hands out rights it does not hold itself, but only by Roles of the tenants' three names.
            "apiGroups": [API_GROUP],
            "resources": ["roles"],
            "verbs": ["escalate", "bind"],
            "resourceNames": _ROLE_NAMES,
        },
        {
            # To see integrations come and go, and to tell a deleted Tenant from a deleted kind.
            "apiGroups": [CRD.group],
            "resources": [CRD.plural],
            "verbs": ["get", "list", "watch"],
        },
    ]


def _managed_rules() -> list[dict[str, Any]]:
    plurals: dict[str, list[str]] = {}
    for kind in (*MANAGED_KINDS, *OPTIONAL_KINDS):
        plurals.setdefault(kind.group, []).append(kind.plural)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": _MANAGE}
        for group, resources in plurals.items()
    ]
