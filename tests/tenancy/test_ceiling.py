"""Plans and tenants add RBAC rules to roles. Some rules are rejected, and the error names the field."""

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


# Each value is a role, a forbidden rule, and the field that the error names.
REFUSED: dict[str, tuple[str, Rule, str]] = {
    "all groups": ("admin", rule("*", "pods", "get"), "apiGroups[0]"),
    "all resources": ("admin", rule("", "*", "get"), "resources[0]"),
    "all subresources": ("admin", rule("", "pods/*", "get"), "resources[0]"),
    "all verbs": ("admin", rule("", "pods", "*"), "verbs[0]"),
    "escalate": ("admin", rule("rbac.authorization.k8s.io", "roles", "escalate"), "verbs[0]"),
    "bind": ("admin", rule("rbac.authorization.k8s.io", "roles", "bind"), "verbs[0]"),
    "impersonate": ("admin", rule("", "serviceaccounts", "impersonate"), "verbs[0]"),
    "use": ("admin", rule("security.openshift.io", "securitycontextconstraints", "use"), "verbs[0]"),
    "sign": ("admin", rule("certificates.k8s.io", "signers", "sign"), "apiGroups[0]"),
    "nodes": ("admin", rule("", "nodes", "get"), "resources[0]"),
    "a subresource of nodes": ("admin", rule("", "nodes/proxy", "get"), "resources[0]"),
    "volumes": ("admin", rule("", "persistentvolumes", "get"), "resources[0]"),
    "a pod's node": ("admin", rule("", "pods/binding", "create"), "resources[0]"),
    "cluster roles": ("admin", rule("rbac.authorization.k8s.io", "clusterroles", "get"), "resources[0]"),
    "tenants": ("admin", rule("platform.ai", "tenants", "get"), "resources[0]"),
    "the status of sessions": (
        "admin",
        rule("platform.ai", "aisessions/status", "patch"),
        "resources[0]",
    ),
    "tenants of the other group": ("admin", rule("kleff.kleff.io", "tenants", "get"), "apiGroups[0]"),
    "CRDs": ("admin", rule("apiextensions.k8s.io", "customresourcedefinitions", "get"), "apiGroups[0]"),
    "admission": (
        *("admin", rule("admissionregistration.k8s.io", "validatingadmissionpolicies", "get")),
        "apiGroups[0]",
    ),
    "token reviews": ("admin", rule("authentication.k8s.io", "tokenreviews", "create"), "apiGroups[0]"),
    "its own quota": ("admin", rule("", "resourcequotas", "update"), "verbs[0]"),
    "its own quota's status": ("admin", rule("", "resourcequotas/status", "patch"), "verbs[0]"),
    "its own namespace": ("admin", rule("", "namespaces", "delete"), "verbs[0]"),
    "the mesh's isolation": (
        "admin",
        rule("security.istio.io", "authorizationpolicies", "create"),
        "verbs[0]",
    ),
    "no group": ("admin", {"apiGroups": [], "resources": ["pods"], "verbs": ["get"]}, "apiGroups"),
    "more than the admin": ("operator", rule(KAFKA, "kafkas", "get"), "resources"),
    "more verbs than the admin": ("operator", rule("", "resourcequotas", "deletecollection"), "verbs[0]"),
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
