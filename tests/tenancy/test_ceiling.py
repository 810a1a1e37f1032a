"""RBAC rules that plans and tenants add to roles: which are rejected, and the field that the error names."""

from typing import Any

import pytest

from tenancy.base.errors import InvalidSpec, PlansError
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import plans_from_text, read_plans
from tenancy.spec.tenant import tenant_from_manifest

Rule = dict[str, list[str]]
KAFKA = "kafka.strimzi.io"


def rule(group: str, resource: str, *verbs: str, names: list[str] | None = None) -> Rule:
    fields = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
    return {**fields, "resourceNames": names} if names else fields


def desired(**roles: list[Rule]) -> DesiredState:
    manifest: Manifest = {"metadata": {"name": "acme"}, "spec": {"roles": roles}}
    return desired_state(tenant_from_manifest(manifest), read_plans())


def rules(state: DesiredState, role: str) -> list[Any]:
    role_rules: list[Any] = state.by_key[ObjectKey("Role", "tenant-acme", f"tenant-{role}")]["rules"]
    return role_rules


# The role, the forbidden rule, and the field that the error names.
REFUSED: dict[str, tuple[str, Rule, str]] = {
    "all groups": ("admin", rule("*", "pods", "get"), "apiGroups"),
    "all resources": ("admin", rule("", "*", "get"), "resources"),
    "all subresources": ("admin", rule("", "pods/*", "get"), "resources"),
    "all verbs": ("admin", rule("", "pods", "*"), "verbs"),
    "escalate": ("admin", rule("rbac.authorization.k8s.io", "roles", "escalate"), "verbs"),
    "bind": ("admin", rule("rbac.authorization.k8s.io", "roles", "bind"), "verbs"),
    "impersonate": ("admin", rule("", "serviceaccounts", "impersonate"), "verbs"),
    "use": ("admin", rule("security.openshift.io", "securitycontextconstraints", "use"), "verbs"),
    "sign": ("admin", rule("certificates.k8s.io", "signers", "sign"), "apiGroups"),
    "nodes": ("admin", rule("", "nodes", "get"), "resources"),
    "a subresource of nodes": ("admin", rule("", "nodes/proxy", "get"), "resources"),
    "volumes": ("admin", rule("", "persistentvolumes", "get"), "resources"),
    "a pod's node": ("admin", rule("", "pods/binding", "create"), "resources"),
    "cluster roles": ("admin", rule("rbac.authorization.k8s.io", "clusterroles", "get"), "resources"),
    "tenants": ("admin", rule("platform.ai", "tenants", "get"), "resources"),
    "the status of sessions": (
        "admin",
        rule("platform.ai", "aisessions/status", "patch"),
        "resources",
    ),
    "tenants of the other group": ("admin", rule("kleff.kleff.io", "tenants", "get"), "apiGroups"),
    "CRDs": ("admin", rule("apiextensions.k8s.io", "customresourcedefinitions", "get"), "apiGroups"),
    "admission": (
        *("admin", rule("admissionregistration.k8s.io", "validatingadmissionpolicies", "get")),
        "apiGroups",
    ),
    "token reviews": ("admin", rule("authentication.k8s.io", "tokenreviews", "create"), "apiGroups"),
    "its own quota": ("admin", rule("", "resourcequotas", "update"), "verbs"),
    "its own quota's status": ("admin", rule("", "resourcequotas/status", "patch"), "verbs"),
    "its own namespace": ("admin", rule("", "namespaces", "delete"), "verbs"),
    "the mesh's isolation": ("admin", rule("security.istio.io", "authorizationpolicies", "create"), "verbs"),
    "no group": ("admin", {"apiGroups": [], "resources": ["pods"], "verbs": ["get"]}, "apiGroups"),
    "more than the admin": ("operator", rule(KAFKA, "kafkas", "get"), "resources"),
    "more verbs than the admin": ("operator", rule("", "resourcequotas", "deletecollection"), "verbs"),
    "more than the admin, for the viewer": ("viewer", rule(KAFKA, "kafkas", "get"), "resources"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rule_above_the_ceiling_is_refused_in_a_tenant_and_in_a_plan(case: str) -> None:
    role, forbidden_rule, field = REFUSED[case]
    with pytest.raises(InvalidSpec) as invalid_spec:
        desired(**{role: [rule("", "pods", "get"), forbidden_rule]})
    assert invalid_spec.value.field == f"spec.roles.{role}[1].{field}"
    plan = {"maxNamespaces": 1, "quotas": [{"name": "q", "hard": {"cpu": 1}}], "limits": {}}
    with pytest.raises(PlansError) as plans_error:
        plans_from_text(str({"plans": {"pro": {**plan, "roles": {role: [forbidden_rule]}}}}))
    assert f"plans.pro.roles.{role}[0].{field}: " in str(plans_error.value)


def test_other_projects_kinds_and_tokens_can_be_given() -> None:
    added_rules = [rule(KAFKA, "kafkas", "get", "create"), rule("", "serviceaccounts/token", "create")]
    assert rules(desired(admin=added_rules), "admin")[-2:] == added_rules


def test_operator_may_have_what_the_admin_was_given() -> None:
    state = desired(admin=[rule(KAFKA, "kafkas", "get", "delete")], operator=[rule(KAFKA, "kafkas", "get")])
    assert rules(state, "operator")[-1] == rule(KAFKA, "kafkas", "get")


def test_viewer_may_have_more_of_what_the_admin_has_anyway() -> None:
    assert rules(desired(viewer=[rule("", "secrets", "list")]), "viewer")[-1] == rule("", "secrets", "list")


def test_admins_names_are_the_operators_limit() -> None:
    admin_rules = [rule(KAFKA, "kafkas", "get", names=["a", "b"])]
    desired(admin=admin_rules, operator=[rule(KAFKA, "kafkas", "get", names=["a"])])
    for names in (None, ["c"]):
        with pytest.raises(InvalidSpec) as invalid_spec:
            desired(admin=admin_rules, operator=[rule(KAFKA, "kafkas", "get", names=names)])
        assert invalid_spec.value.field == "spec.roles.operator[0].resourceNames"
