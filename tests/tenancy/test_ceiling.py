"""Rules that plans and tenants add to roles stay below the ceiling, and a fault is told by its field."""

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
    given = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
    return {**given, "resourceNames": names} if names else given


def desired(**roles: list[Rule]) -> DesiredState:
    manifest: Manifest = {"metadata": {"name": "acme"}, "spec": {"roles": roles}}
    return desired_state(tenant_from_manifest(manifest), read_plans())


def rules(state: DesiredState, role: str) -> list[Any]:
    found: list[Any] = state.by_key[ObjectKey("Role", "tenant-acme", f"tenant-{role}")]["rules"]
    return found


# The role, its rule, and the field that is wrong in it.
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
    "a part of nodes": ("admin", rule("", "nodes/proxy", "get"), "resources"),
    "volumes": ("admin", rule("", "persistentvolumes", "get"), "resources"),
    "a pod's node": ("admin", rule("", "pods/binding", "create"), "resources"),
    "cluster roles": ("admin", rule("rbac.authorization.k8s.io", "clusterroles", "get"), "resources"),
    "tenants": ("admin", rule("platform.ai", "tenants", "get"), "resources"),
    "what a session says of itself": (
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
    "its own quota's count": ("admin", rule("", "resourcequotas/status", "patch"), "verbs"),
    "its own namespace": ("admin", rule("", "namespaces", "delete"), "verbs"),
    "the mesh's walls": ("admin", rule("security.istio.io", "authorizationpolicies", "create"), "verbs"),
    "no group": ("admin", {"apiGroups": [], "resources": ["pods"], "verbs": ["get"]}, "apiGroups"),
    "more than the admin": ("operator", rule(KAFKA, "kafkas", "get"), "resources"),
    "more verbs than the admin": ("operator", rule("", "resourcequotas", "deletecollection"), "verbs"),
    "what only other roles lack": ("viewer", rule(KAFKA, "kafkas", "get"), "resources"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rule_above_the_ceiling_is_refused_in_a_tenant_and_in_a_plan(case: str) -> None:
    role, bad, field = REFUSED[case]
    with pytest.raises(InvalidSpec) as refusal:
        desired(**{role: [rule("", "pods", "get"), bad]})
    assert refusal.value.field == f"spec.roles.{role}[1].{field}"
    plan = {"maxNamespaces": 1, "quotas": [{"name": "q", "hard": {"cpu": 1}}], "limits": {}}
    with pytest.raises(PlansError) as refused_plan:
        plans_from_text(str({"plans": {"pro": {**plan, "roles": {role: [bad]}}}}))
    assert f"plans.pro.roles.{role}[0].{field}: " in str(refused_plan.value)


def test_other_projects_kinds_and_tokens_can_be_given() -> None:
    given = [rule(KAFKA, "kafkas", "get", "create"), rule("", "serviceaccounts/token", "create")]
    assert rules(desired(admin=given), "admin")[-2:] == given


def test_operator_may_have_what_the_admin_was_given() -> None:
    state = desired(admin=[rule(KAFKA, "kafkas", "get", "delete")], operator=[rule(KAFKA, "kafkas", "get")])
    assert rules(state, "operator")[-1] == rule(KAFKA, "kafkas", "get")


def test_viewer_may_have_more_of_what_the_admin_has_anyway() -> None:
    assert rules(desired(viewer=[rule("", "secrets", "list")]), "viewer")[-1] == rule("", "secrets", "list")


def test_admins_names_are_the_operators_limit() -> None:
    admin = [rule(KAFKA, "kafkas", "get", names=["a", "b"])]
    desired(admin=admin, operator=[rule(KAFKA, "kafkas", "get", names=["a"])])
    for names in (None, ["c"]):
        with pytest.raises(InvalidSpec) as refusal:
            desired(admin=admin, operator=[rule(KAFKA, "kafkas", "get", names=names)])
        assert refusal.value.field == "spec.roles.operator[0].resourceNames"
