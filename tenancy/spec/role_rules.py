"""Rules that plans and tenants add to a tenant's roles, and what no such rule may ever hold.

Part of `settings`. Whether an operator's rule stays within the admin's is for `role_ceiling` to say.

A Role gives no right over cluster-scoped objects, whatever it says, so one that names them is a mistake
and is told so. What a tenant's own objects are kept apart by, nobody in the tenant may write. Other
projects' namespaced kinds are what these rules are for: they are free. So is `serviceaccounts/token`: who
can start a pod can run as any service account of the namespace already.
"""

import re
from typing import Final

from pydantic import Field, ValidationInfo, field_validator

from tenancy.base.kinds import RBAC_GROUP
from tenancy.base.model import Model
from tenancy.base.names import GROUP, KLEFF_GROUP

READ_VERBS: Final = ("get", "list", "watch")
# Everything else (escalate, bind, impersonate, approve, sign, use, …) reaches beyond the object it is for.
_VERBS: Final = (*READ_VERBS, "create", "update", "patch", "delete", "deletecollection")
_GROUP = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?")
_RESOURCE = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/[a-z0-9]+)?")

# API groups that only the platform's own people have business in.
_CLOSED_GROUPS: Final = {
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
# Cluster-scoped, or, like a binding of a pod to a node, past what a plan says of the tenant's pods.
_CLOSED_RESOURCES: Final = {
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
# What the walls are made of: to be looked at only.
_READ_ONLY: Final = {
    ("", "namespaces"),
    ("", "resourcequotas"),
    ("networking.istio.io", "envoyfilters"),
    ("networking.istio.io", "gateways"),
    ("networking.istio.io", "sidecars"),
    ("security.istio.io", "authorizationpolicies"),
    ("security.istio.io", "peerauthentications"),
    ("security.istio.io", "requestauthentications"),
}


class PolicyRule(Model):
    """One rule of a role, as in a Kubernetes Role."""

    api_groups: tuple[str, ...] = Field(
        min_length=1, max_length=64, description='API groups; `""` is the core one.'
    )
    resources: tuple[str, ...] = Field(min_length=1, max_length=64, description="Resources in them.")
    verbs: tuple[str, ...] = Field(min_length=1, max_length=64, description="What may be done.")
    resource_names: tuple[str, ...] = Field(default=(), max_length=64, description="Only these objects.")

    @field_validator("api_groups")
    @classmethod
    def _groups_are_open(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        for group in groups:
            if not _GROUP.fullmatch(group):
                raise ValueError(f"{group!r} is no API group; name each one, there is no wildcard here")
            if group in _CLOSED_GROUPS:
                raise ValueError(f"nothing of {group!r} can be given to a tenant")
        return groups

    @field_validator("resources")
    @classmethod
    def _resources_are_open(cls, resources: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for resource in resources:
            if not _RESOURCE.fullmatch(resource):
                raise ValueError(f"{resource!r} is no resource; name each one, there is no wildcard here")
            for group in info.data.get("api_groups", ()):
                if _is_in(_CLOSED_RESOURCES, group, resource):
                    raise ValueError(f"{resource!r} of {group!r} cannot be given to a tenant")
        return resources

    @field_validator("verbs")
    @classmethod
    def _verbs_are_open(cls, verbs: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for verb in verbs:
            if verb not in _VERBS:
                raise ValueError(f"{verb!r} cannot be given to a tenant; possible are {', '.join(_VERBS)}")
        if writes := [verb for verb in verbs if verb not in READ_VERBS]:
            for resource in info.data.get("resources", ()):
                if any(_is_in(_READ_ONLY, group, resource) for group in info.data.get("api_groups", ())):
                    raise ValueError(
                        f"{writes[0]!r} on {resource!r} cannot be given to a tenant; it may only be read"
                    )
        return verbs


class RoleRules(Model):
    """Rules added to the tenant's roles. No rule may hold more than a tenant's admin may have."""

    admin: tuple[PolicyRule, ...] | None = Field(
        default=None, max_length=32, description="For `tenant-admin`."
    )
    operator: tuple[PolicyRule, ...] | None = Field(
        default=None, max_length=32, description="For `tenant-operator`; the admin must have all of it too."
    )
    viewer: tuple[PolicyRule, ...] | None = Field(
        default=None, max_length=32, description="For `tenant-viewer`; the admin must have all of it too."
    )

    def of(self, role: str) -> tuple[PolicyRule, ...]:
        rules: tuple[PolicyRule, ...] | None = getattr(self, role)
        return rules or ()


def _is_in(known: set[tuple[str, str]], group: str, resource: str) -> bool:
    """A subresource is as open as what it is a part of."""
    return (group, resource) in known or (group, resource.partition("/")[0]) in known
