"""RBAC rules that plans and tenants add to the tenant's Roles.

Only some permissions can be granted:

- Cluster-scoped resources are rejected. A Role can't grant access to them, so such a rule is a mistake.
- For resources that isolate the tenant, only read access can be granted.
- Namespaced resources of other projects are allowed. Rules are added mainly to give access to such resources.
- `serviceaccounts/token` is allowed. The admission policy `tenancy-token-requests` rejects a request for a
  token of a service account that has more rights than the subject.

`role_ceiling` checks that `tenant-operator` and `tenant-viewer` get no permission that `tenant-admin` lacks.
"""

import re
from typing import Annotated, Final

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from tenancy.base.kinds import RBAC_GROUP
from tenancy.base.model import Model
from tenancy.base.names import GROUP, KLEFF_GROUP
from tenancy.base.validation import raise_problems

READ_VERBS: Final = ("get", "list", "watch")
# Other verbs (escalate, bind, impersonate, approve, sign, use, …) would allow a subject to get more
# permissions.
_VERBS: Final = (*READ_VERBS, "create", "update", "patch", "delete", "deletecollection")
_GROUP = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?")
_RESOURCE = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/[a-z0-9]+)?")

# API groups whose resources only platform administrators use. A tenant gets no permissions in them.
_FORBIDDEN_GROUPS: Final = {
    KLEFF_GROUP,
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "certificates.k8s.io",
    "config.gatekeeper.sh",
    "constraints.gatekeeper.sh",
    "flowcontrol.apiserver.k8s.io",
    "hnc.x-k8s.io",
    "internal.apiserver.k8s.io",
    "mutations.gatekeeper.sh",
    "node.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "templates.gatekeeper.sh",
}
# Cluster-scoped resources, and resources that bypass the plan's settings, such as `pods/binding`.
_FORBIDDEN_RESOURCES: Final = {
    ("", "bindings"),
    ("", "componentstatuses"),
    ("", "nodes"),
    ("", "persistentvolumes"),
    ("", "pods/binding"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("gateway.networking.k8s.io", "gatewayclasses"),
    ("metrics.k8s.io", "nodes"),
    ("networking.k8s.io", "ingressclasses"),
    ("policy", "podsecuritypolicies"),
    (GROUP, "tenants"),
    (GROUP, "aisessions/status"),
    (RBAC_GROUP, "clusterroles"),
    (RBAC_GROUP, "clusterrolebindings"),
}
# Resources that isolate the tenant. Only read verbs can be granted.
_READ_ONLY_RESOURCES: Final = {
    ("", "namespaces"),
    ("", "resourcequotas"),
    ("networking.istio.io", "envoyfilters"),
    ("networking.istio.io", "gateways"),
    ("networking.istio.io", "sidecars"),
    ("security.istio.io", "authorizationpolicies"),
    ("security.istio.io", "peerauthentications"),
    ("security.istio.io", "requestauthentications"),
}


_Text = Annotated[str, StringConstraints(max_length=253)]
# Only the API server uses these patterns. In Python, the validators of `PolicyRule` make the same checks, but
# have better messages.
_ApiGroup = Annotated[_Text, Field(json_schema_extra={"pattern": f"^{_GROUP.pattern}$"})]
_Resource = Annotated[_Text, Field(json_schema_extra={"pattern": f"^{_RESOURCE.pattern}$"})]
_Verb = Annotated[_Text, Field(json_schema_extra={"enum": list(_VERBS)})]


class PolicyRule(Model):
    """One RBAC rule, as in a Kubernetes Role. Wildcards are not allowed."""

    api_groups: tuple[_ApiGroup, ...] = Field(
        min_length=1, max_length=64, description='API groups of the resources. `""` is the core group.'
    )
    resources: tuple[_Resource, ...] = Field(
        min_length=1,
        max_length=64,
        description="Resources that the rule applies to, in their plural form, such as `configmaps`.",
    )
    verbs: tuple[_Verb, ...] = Field(
        min_length=1,
        max_length=64,
        description="The allowed verbs.",
    )
    resource_names: tuple[_Text, ...] = Field(
        default=(),
        max_length=64,
        description="Names of the objects that the rule applies to. Default: all objects.",
    )

    @field_validator("api_groups")
    @classmethod
    def _groups_are_allowed(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        raise_problems(
            ((index,), text) for index, group in enumerate(groups) if (text := _group_problem(group))
        )
        return groups

    @field_validator("resources")
    @classmethod
    def _resources_are_allowed(cls, resources: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        groups = info.data.get("api_groups", ())
        raise_problems(
            ((index,), text)
            for index, resource in enumerate(resources)
            if (text := _resource_problem(resource, groups))
        )
        return resources

    @field_validator("verbs")
    @classmethod
    def _verbs_are_allowed(cls, verbs: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        groups, resources = info.data.get("api_groups", ()), info.data.get("resources", ())
        read_only = next((each for each in resources if _is_read_only(groups, each)), None)
        raise_problems(
            ((index,), text) for index, verb in enumerate(verbs) if (text := _verb_problem(verb, read_only))
        )
        return verbs


class RoleRules(Model):
    """RBAC rules that are added to the Roles of the tenant."""

    admin: tuple[PolicyRule, ...] | None = Field(
        default=None, max_length=32, description="Rules that are added to the Role `tenant-admin`."
    )
    operator: tuple[PolicyRule, ...] | None = Field(
        default=None,
        max_length=32,
        description="Rules that are added to the Role `tenant-operator`. The rules can grant only "
        "permissions that the Role `tenant-admin` also has.",
    )
    viewer: tuple[PolicyRule, ...] | None = Field(
        default=None,
        max_length=32,
        description="Rules that are added to the Role `tenant-viewer`. The rules can grant only permissions "
        "that the Role `tenant-admin` also has.",
    )

    def of(self, role: str) -> tuple[PolicyRule, ...]:
        """The rules that are added to a role. `role` is `admin`, `operator` or `viewer`."""
        rules: tuple[PolicyRule, ...] | None = getattr(self, role)
        return rules or ()


def _is_in(resources: set[tuple[str, str]], group: str, resource: str) -> bool:
    """Whether `resources` contains the resource.

    For a subresource such as `pods/log`, the result is also True if `resources` contains `pods`.
    """
    return (group, resource) in resources or (group, resource.partition("/")[0]) in resources


def _group_problem(group: str) -> str | None:
    if not _GROUP.fullmatch(group):
        return f"{group!r} is not an API group; wildcards are not allowed"
    if group in _FORBIDDEN_GROUPS:
        return f"API group {group!r} can't be granted to a tenant"
    return None


def _resource_problem(resource: str, groups: tuple[str, ...]) -> str | None:
    if not _RESOURCE.fullmatch(resource):
        return f"{resource!r} is not a resource; wildcards are not allowed"
    for group in groups:
        if _is_in(_FORBIDDEN_RESOURCES, group, resource):
            return f"{resource!r} in API group {group!r} can't be granted to a tenant"
    return None


def _is_read_only(groups: tuple[str, ...], resource: str) -> bool:
    return any(_is_in(_READ_ONLY_RESOURCES, group, resource) for group in groups)


def _verb_problem(verb: str, read_only: str | None) -> str | None:
    """The reason why a rule can't grant the verb. None if the rule can grant it.

    `read_only` is the name of a resource in the rule. Only read verbs can be granted for this resource. It is
    None if the rule has no such resource.
    """
    if verb not in _VERBS:
        return f"{verb!r} can't be granted to a tenant; allowed verbs: {', '.join(_VERBS)}"
    if verb in READ_VERBS or read_only is None:
        return None
    allowed = ", ".join(READ_VERBS)
    return f"{verb!r} on {read_only!r} can't be granted to a tenant; allowed verbs: {allowed}"
