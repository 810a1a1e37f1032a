"""The table of isolation checks, the comparison with the shipped policies, and the outcomes of checks."""

from copy import deepcopy
from typing import Any

import pytest

from tenancy.base.manifest import Manifest, object_key
from tenancy.desired import DesiredState, desired_state
from tenancy.isolation.catalog import CHECK_BY_ID, CHECKS
from tenancy.isolation.check import BASELINE, NAMESPACES, RBAC, SCHEMA, Actor, Layer, Protection, Role, policy
from tenancy.isolation.comparison import object_problems, policy_problems, shipped_policies
from tenancy.isolation.evaluation import Answer, Outcome, attempt_outcome, is_lowered, rejecting
from tenancy.isolation.target import Target, actors
from tenancy.plans import read_plans
from tenancy.spec.effective_settings import effective_settings
from tenancy.spec.tenant import tenant_from_manifest
from tests.platform import tenant_manifest

PLANS = read_plans()


def desired(**spec: Any) -> DesiredState:
    return desired_state(tenant_from_manifest(tenant_manifest("checked", **spec)), PLANS, frozenset())


def target(**spec: Any) -> Target:
    manifest = tenant_manifest("checked", **spec)
    tenant = tenant_from_manifest(manifest)
    settings = effective_settings(PLANS.plan(tenant.spec.plan), tenant.spec)
    return Target(manifest, tenant, settings, desired(**spec), "tenant-checked")


def test_there_are_at_least_60_distinct_checks() -> None:
    assert len(CHECK_BY_ID) == len(CHECKS) >= 60
    assert len({check.title for check in CHECKS}) == len(CHECKS)


def test_every_policy_has_a_check() -> None:
    shipped = {
        each["metadata"]["name"] for each in shipped_policies() if not each["kind"].endswith("Binding")
    }
    named = {each.name for check in CHECKS for each in check.protections if each.layer is Layer.POLICY}
    assert named == shipped


def test_protecting_objects_exist_in_every_namespace() -> None:
    names = {f"{key.kind} {key.name}" for key in desired().by_key} | {NAMESPACES.name}
    named = {each.name for check in CHECKS for each in check.protections if each.layer is Layer.OBJECT}
    assert named <= names


def shipped(name: str, kind: str = "ValidatingAdmissionPolicyBinding") -> Manifest:
    return next(
        each for each in shipped_policies() if each["metadata"]["name"] == name and each["kind"] == kind
    )


def changed_policies(kind: str, change: dict[str, Any]) -> list[Manifest]:
    live = deepcopy(list(shipped_policies()))
    manifest = next(
        each for each in live if each["metadata"]["name"] == "tenancy-pods" and each["kind"].endswith(kind)
    )
    manifest["spec"] |= change
    return live


def test_shipped_policies_have_no_problems() -> None:
    """Defaults that the API server adds to the live objects are not problems."""
    live = deepcopy(list(shipped_policies()))
    for manifest in live:
        field = "matchResources" if manifest["kind"].endswith("Binding") else "matchConstraints"
        defaults = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
        manifest["spec"][field] = {**defaults, **manifest["spec"].get(field, {})}
        for rule in manifest["spec"][field].get("resourceRules", []):
            rule.setdefault("scope", "*")
    assert policy_problems(live) == {}


POD_RULES = shipped("tenancy-pods", "ValidatingAdmissionPolicy")["spec"]["matchConstraints"]["resourceRules"]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("Policy", {"validations": []}),
        ("Policy", {"failurePolicy": "Ignore"}),
        ("Policy", {"matchConditions": [{"name": "none", "expression": "false"}]}),
        ("Policy", {"matchConstraints": {"resourceRules": [{**POD_RULES[0], "resourceNames": ["none"]}]}}),
        ("Policy", {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}),
        ("Binding", {"paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"}}),
        ("Binding", {"validationActions": ["Audit"]}),
        ("Binding", {"matchResources": {"excludeResourceRules": [{"resources": ["pods"]}]}}),
        ("Binding", {"matchResources": {"namespaceSelector": {"matchLabels": {"a": "b"}}}}),
    ],
)
def test_weakened_policy_is_a_problem(kind: str, change: dict[str, Any]) -> None:
    assert policy_problems(changed_policies(kind, change)).keys() == {policy("pods")}


def test_policy_without_a_binding_is_a_problem() -> None:
    live = [each for each in shipped_policies() if each is not shipped("tenancy-managed-objects-name")]
    assert policy_problems(live) == {
        policy("managed-objects"): f"{object_key(shipped('tenancy-managed-objects-name'))} does not exist"
    }


def test_changed_objects_are_problems() -> None:
    state = desired()
    live = deepcopy(dict(state.by_key))
    assert object_problems(state, live) == {}
    (namespace,) = (key for key in live if key.kind == "Namespace")
    live[namespace]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "privileged"
    (deny,) = (key for key in live if key.name == "default-deny-all")
    del live[deny]
    problems = object_problems(state, live)
    assert NAMESPACES in problems
    assert BASELINE in problems
    assert problems[Protection(Layer.OBJECT, "NetworkPolicy default-deny-all")].endswith("deleted")


FORBIDDEN_BY_RBAC = 'pods is forbidden: User "a" cannot list resource "pods" in API group "" in the namespace'
BY_POLICY = (
    "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'tenancy-pods' with binding 'tenancy-pods' denied"
)


@pytest.mark.parametrize(
    ("status", "message", "protections", "expected"),
    [
        (403, FORBIDDEN_BY_RBAC, (RBAC,), RBAC),
        (403, BY_POLICY, (RBAC, policy("pods")), policy("pods")),
        (422, BY_POLICY, (policy("scheduling"),), None),
        (422, "spec.rbacConfig is invalid", (SCHEMA,), SCHEMA),
        (403, 'violates PodSecurity "restricted:latest": hostPath', (BASELINE,), BASELINE),
    ],
)
def test_rejection_names_its_protection(
    status: int, message: str, protections: tuple[Protection, ...], expected: Protection | None
) -> None:
    assert rejecting(protections, Answer(status=status, message=message)) == expected


@pytest.mark.parametrize(
    ("status", "message", "outcome"),
    [
        (201, "", Outcome.FAILED),
        (404, 'pods "x" not found', Outcome.FAILED),
        (404, "the server could not find the requested resource", Outcome.SKIPPED),
        (403, "another webhook denied the request", Outcome.FAILED),
        (403, BY_POLICY, Outcome.PASSED),
    ],
)
def test_outcome_of_an_answer(status: int, message: str, outcome: Outcome) -> None:
    check = CHECK_BY_ID["pod-device"]
    assert attempt_outcome(check, target(), Answer(status=status, message=message))[0] is outcome


def test_cordon_of_a_tenant_rejects_everything() -> None:
    answer = Answer(status=403, message="ValidatingAdmissionPolicy 'tenancy-cordoned' with binding")
    check = CHECK_BY_ID["pod-device"]
    assert attempt_outcome(check, target(cordoned=True), answer)[0] is Outcome.PASSED
    assert attempt_outcome(check, target(), answer)[0] is Outcome.FAILED


def test_lower_pod_security_allows_some_requests() -> None:
    levels = {level: target(podSecurity=level) for level in ("restricted", "baseline", "privileged")}
    lowered = {
        check_id: [level for level, each in levels.items() if is_lowered(CHECK_BY_ID[check_id], each)]
        for check_id in ("pod-root", "pod-privileged", "pod-host-path", "pod-device")
    }
    assert lowered == {
        "pod-root": ["baseline", "privileged"],
        "pod-privileged": ["privileged"],
        # At every level, an admission policy rejects host paths.
        "pod-host-path": [],
        "pod-device": [],
    }


def test_users_come_from_the_spec() -> None:
    state = desired(
        namespaces=[{"name": "dev"}, {"name": "prod"}],
        rbacConfig={"serviceAccounts": ["ci/robot"], "users": ["ann"]},
        access=[{"kind": "Group", "name": "team", "role": "viewer", "namespaces": ["prod"]}],
    )
    assert actors(state, "wendy") == {
        Role.ADMIN: Actor("ann", (), "tenant-checked-dev"),
        Role.VIEWER: Actor("tenancy-prove", ("team",), "tenant-checked-prod"),
        Role.WRITER: Actor("wendy", (), "tenant-checked-dev"),
        Role.OUTSIDER: Actor("tenancy-prove", (), "tenant-checked-dev"),
    }
