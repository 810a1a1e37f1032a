"""The watcher's ServiceAccount and RBAC.

The watcher has only the rights that it uses. In the namespaces of tenants, it has rights on four groups of
kinds:

- the kinds of the objects that the platform creates for tenants
- AISessions
- the Jobs, pods and Events of AISessions
- the kinds of objects that contain hosts, and PodMetrics (only `list`)

The rules for the first group are derived from the tables of kinds in `tenancy.base.kinds`, so they include
new kinds automatically.
"""

from collections.abc import Iterable
from typing import Any, Final

from tenancy.base.kinds import (
    CRD,
    HOST_KINDS,
    LEASE,
    MANAGED_KINDS,
    OPTIONAL_KINDS,
    POD_METRICS,
    POLICY_BINDING,
    SUBJECT_ACCESS_REVIEW,
    TOKEN_REVIEW,
    VALIDATING_POLICY,
    Kind,
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
_SYSTEM_RULES: Final = [
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "verbs": ["get", "list", "watch"],
        "resourceNames": [PLANS_CONFIG_MAP],
    },
    # The watcher that holds this Lease leads. RBAC cannot restrict `create` to a name.
    {
        "apiGroups": [LEASE.group],
        "resources": [LEASE.plural],
        "verbs": ["get", "patch"],
        "resourceNames": [WATCHER],
    },
    {"apiGroups": [LEASE.group], "resources": [LEASE.plural], "verbs": ["create"]},
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
        *_role(SYSTEM_NAMESPACE, _SYSTEM_RULES),
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
            # HNC lets the watcher add a child namespace only if it has this right in the parent namespace.
            "apiGroups": ["hnc.x-k8s.io"],
            "resources": ["hierarchyconfigurations"],
            "verbs": ["update"],
        },
        {
            # Without these verbs, RBAC lets the watcher grant only rights that it has itself. With these
            # verbs, it can grant any right, but only in Roles with one of these three names.
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
        # The watcher looks for the tenant's hosts in these objects. A host stays reserved for a tenant while
        # an object of the tenant names the host.
        *(
            {"apiGroups": [group], "resources": resources, "verbs": ["list"]}
            for group, resources in _plurals(HOST_KINDS).items()
        ),
        # The watcher checks whether somebody has changed the admission policies.
        {
            "apiGroups": [VALIDATING_POLICY.group],
            "resources": [VALIDATING_POLICY.plural, POLICY_BINDING.plural],
            "verbs": ["list", "watch"],
        },
        # This API group exposes only the resource usage of pods, not the pods themselves.
        {"apiGroups": [POD_METRICS.group], "resources": [POD_METRICS.plural], "verbs": ["list"]},
        # The watcher uses these reviews to authenticate and authorize the users of its web page, and to check
        # the rights of tenants' users.
        *(
            {"apiGroups": [review.group], "resources": [review.plural], "verbs": ["create"]}
            for review in (TOKEN_REVIEW, SUBJECT_ACCESS_REVIEW)
        ),
    ]


def _managed_rules() -> Rules:
    return [
        {"apiGroups": [group], "resources": resources, "verbs": _MANAGE}
        for group, resources in _plurals((*MANAGED_KINDS, *OPTIONAL_KINDS)).items()
    ]


def _plurals(kinds: Iterable[Kind]) -> dict[str, list[str]]:
    """The plural names of these kinds, by API group."""
    plurals: dict[str, list[str]] = {}
    for kind in kinds:
        if kind.plural not in plurals.setdefault(kind.group, []):
            plurals[kind.group].append(kind.plural)
    return plurals
