"""What the platform itself needs in a cluster: the CRDs, and the watcher's identity and rights.

Pure manifests; whoever installs the platform applies them. The watcher holds no right that
it does not use, and none over the content of the namespaces it makes.
"""

from typing import Any, Final

from tenancy.crd import crds
from tenancy.manifest import Manifest
from tenancy.names import GROUPS, crd_name
from tenancy.rbac import API_GROUP, API_VERSION, role_name
from tenancy.tenant import AccessRole

SYSTEM_NAMESPACE: Final = "tenancy-system"
WATCHER: Final = "tenancy-watcher"
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
    ]


def _watcher_rules() -> list[dict[str, Any]]:
    return [
        {
            "apiGroups": list(GROUPS),
            "resources": ["tenants"],
            "verbs": ["get", "list", "watch", "patch"],
        },
        {"apiGroups": list(GROUPS), "resources": ["tenants/status"], "verbs": ["patch"]},
        {"apiGroups": [""], "resources": ["namespaces", "resourcequotas", "limitranges"], "verbs": _MANAGE},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": _MANAGE},
        {"apiGroups": [API_GROUP], "resources": ["roles", "rolebindings"], "verbs": _MANAGE},
        {
            # Hands out rights it does not hold itself, but only by Roles of the tenants' three names.
            "apiGroups": [API_GROUP],
            "resources": ["roles"],
            "verbs": ["escalate", "bind"],
            "resourceNames": _ROLE_NAMES,
        },
        {
            # To tell a deleted Tenant from a deleted kind.
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "verbs": ["get"],
            "resourceNames": [crd_name(group) for group in GROUPS],
        },
    ]
