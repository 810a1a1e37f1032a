"""The Roles and RoleBindings of one namespace: admin, operator and viewer."""

from collections.abc import Iterator
from typing import Any, Final

from tenancy.base.manifest import Manifest, namespaced_manifest
from tenancy.base.names import GROUP
from tenancy.spec.access import Access, AccessRole, SubjectKind
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import TenantModel

API_GROUP: Final = "rbac.authorization.k8s.io"
API_VERSION: Final = f"{API_GROUP}/v1"

_READ_VERBS: Final = ["get", "list", "watch"]
_WRITE_VERBS: Final = [*_READ_VERBS, "create", "update", "patch", "delete"]
_ALL_VERBS: Final = [*_WRITE_VERBS, "deletecollection"]

_WORKLOADS: Final = {
    "apps": [
        "deployments",
        "deployments/scale",
        "deployments/status",
        "statefulsets",
        "statefulsets/scale",
        "statefulsets/status",
        "daemonsets",
        "daemonsets/status",
        "replicasets",
        "replicasets/scale",
        "replicasets/status",
        "controllerrevisions",
    ],
    "batch": ["jobs", "jobs/status", "cronjobs", "cronjobs/status"],
    "autoscaling": ["horizontalpodautoscalers", "horizontalpodautoscalers/status"],
    # `aisessions/status` is not listed, because only the platform writes it.
    GROUP: ["aisessions"],
}
_ADMIN_CORE: Final = [
    "pods",
    "pods/log",
    "pods/status",
    "pods/exec",
    "pods/portforward",
    "services",
    "services/proxy",
    "endpoints",
    "configmaps",
    "secrets",
    "serviceaccounts",
    "events",
    "limitranges",
    "podtemplates",
    "persistentvolumeclaims",
]
_ADMIN_MORE: Final = {
    "networking.k8s.io": ["ingresses", "ingresses/status", "networkpolicies"],
    "policy": ["poddisruptionbudgets", "poddisruptionbudgets/status"],
    API_GROUP: ["roles", "rolebindings"],
}
_OPERATOR_CORE: Final = [
    "pods",
    "pods/log",
    "pods/status",
    "pods/exec",
    "services",
    "endpoints",
    "configmaps",
    "secrets",
    "events",
]
_VIEWER_CORE: Final = [
    "pods",
    "pods/log",
    "pods/status",
    "services",
    "endpoints",
    "configmaps",
    "events",
    "serviceaccounts",
    "limitranges",
    "podtemplates",
    "persistentvolumeclaims",
]


def _rule(group: str, resources: list[str], verbs: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _rules(core: list[str], others: dict[str, list[str]], verbs: list[str]) -> list[dict[str, Any]]:
    return [
        _rule("", core, verbs),
        *(_rule(group, resources, verbs) for group, resources in others.items()),
        _rule("", ["namespaces"], ["get", "list"]),
        _rule("", ["resourcequotas"], _READ_VERBS),
    ]


# The rules of each Role, without the rules that plans and tenants add.
ROLE_RULES: Final = {
    AccessRole.ADMIN: _rules(_ADMIN_CORE, {**_WORKLOADS, **_ADMIN_MORE}, _ALL_VERBS),
    AccessRole.OPERATOR: _rules(_OPERATOR_CORE, _WORKLOADS, _WRITE_VERBS),
    AccessRole.VIEWER: _rules(_VIEWER_CORE, {**_WORKLOADS, **_ADMIN_MORE}, _READ_VERBS),
}


def role_name(role: AccessRole) -> str:
    """The name of the Role and of its RoleBinding in each namespace."""
    return f"tenant-{role.value}"


def roles(tenant: TenantModel, settings: TenantSettings, namespace: str) -> list[Manifest]:
    """The Roles of one namespace, with the rules that the plan and the tenant add."""
    return [
        namespaced_manifest(
            API_VERSION,
            "Role",
            tenant.name,
            namespace,
            role_name(role),
            rules=[*rules, *_extra_rules(settings, role)],
        )
        for role, rules in ROLE_RULES.items()
    ]


def _extra_rules(settings: TenantSettings, role: AccessRole) -> list[dict[str, Any]]:
    rules = settings.roles.of(role.value)
    return [rule.model_dump(by_alias=True, mode="json", exclude_defaults=True) for rule in rules]


def role_bindings(tenant: TenantModel, namespace: str, short_name: str | None) -> list[Manifest]:
    """The RoleBindings of one namespace, one per role.

    A RoleBinding is created even if it has no subjects. So the platform can detect and remove a subject that
    somebody adds to this RoleBinding. `short_name` is the namespace's name in the spec. It is None for the
    default namespace.
    """
    return [
        namespaced_manifest(
            API_VERSION,
            "RoleBinding",
            tenant.name,
            namespace,
            role_name(role),
            roleRef={"apiGroup": API_GROUP, "kind": "Role", "name": role_name(role)},
            subjects=_subjects(tenant, role, namespace, short_name),
        )
        for role in AccessRole
    ]


def _subjects(
    tenant: TenantModel, role: AccessRole, namespace: str, short_name: str | None
) -> list[dict[str, str]]:
    subjects = {
        (access.kind.value, access.namespace or namespace, access.name)
        if access.kind is SubjectKind.SERVICE_ACCOUNT
        else (access.kind.value, "", access.name)
        for access in all_access(tenant)
        if access.role is role and (not access.namespaces or short_name in access.namespaces)
    }
    return [
        {"kind": kind, "name": name, "namespace": account_namespace}
        if kind == SubjectKind.SERVICE_ACCOUNT
        else {"kind": kind, "name": name, "apiGroup": API_GROUP}
        for kind, account_namespace, name in sorted(subjects)
    ]


def all_access(tenant: TenantModel) -> Iterator[Access]:
    """All entries of `adminUsers`, `rbacConfig` and `access` in the spec, as `Access` objects."""
    spec = tenant.spec
    for user in (*spec.admin_users, *spec.rbac_config.users):
        yield Access(kind=SubjectKind.USER, name=user, role=AccessRole.ADMIN)
    for group in spec.rbac_config.groups:
        yield Access(kind=SubjectKind.GROUP, name=group, role=AccessRole.ADMIN)
    for account in spec.rbac_config.service_accounts:
        account_namespace, _, name = account.rpartition("/")
        yield Access(
            kind=SubjectKind.SERVICE_ACCOUNT,
            name=name,
            namespace=account_namespace or None,
            role=AccessRole.ADMIN,
        )
    yield from spec.access
