"""A user who can only write Tenants cannot use them to gain rights outside the tenants' namespaces."""

from collections.abc import Iterator
from typing import Any

import pytest

from cli.manifests.read import ManifestSet, TenantDocument
from cli.preview.compare import Comparison
from cli.preview.comparison_base import empty_base
from cli.preview.findings.finding import Severity
from tenancy.base.kinds import RBAC_GROUP, TENANTS, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import WATCHER_USER
from tenancy.plans import read_plans
from tests.admission.conftest import CLUSTER_ROLE_BINDING, People
from tests.admission.people import Attempt, Person, create, denied_by
from tests.waiting import eventually

CLUSTER_ROLE = Kind(f"{RBAC_GROUP}/v1", "ClusterRole", "clusterroles", False)
SIGNATURE = "4dabf18193072939515e22adb298388d"
HELM = {"apiGroups": ["helm.toolkit.fluxcd.io"], "resources": ["helmreleases"], "verbs": ["create"]}
# The verbs on Tenants that RBAC grants to each user.
WRITE = ("get", "create", "update", "patch")
VERBS = {
    "wendy": WRITE,
    "paul": (*WRITE, "relax-pod-security"),
    "rita": (*WRITE, "grant-roles"),
    "stan": (*WRITE, "write-status"),
}
# Fields of a Tenant's status that the watcher and the web page trust.
FORGED_STATUS: dict[str, Manifest] = {
    "an author": {"specChanges": [{"generation": 1, "time": "2026-01-01T00:00:00Z", "user": "alice"}]},
    "an applied spec": {"appliedDigest": "0123456789abcdef"},
    "a namespace": {"namespaceStatus": {"kube-system": {"ready": True}}},
}
# A Tenant of the second API group. The watcher creates no objects for a paused Tenant.
PAUSED = create(TENANTS[1], "status-target", spec={"paused": True})


def tenant(group: int = 0, **spec: Any) -> Attempt:
    return create(TENANTS[group], "attempt", spec=spec)


def config_map(**data: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}


def patch(**spec: Any) -> Attempt:
    return Attempt("PATCH", TENANTS[0].path(name="acme"), {"spec": spec}, "application/merge-patch+json")


# Each value is a request by a user who can write Tenants, and a part of the error message.
ATTACKS: dict[str, tuple[Attempt, str]] = {
    "privileged pods": (
        tenant(podSecurity="privileged", adminUsers=["wendy"]),
        "spec.podSecurity: privileged lets pods of the tenant control their nodes, so you need the verb",
    ),
    "privileged pods in the other API group": (tenant(1, podSecurity="privileged"), "spec.podSecurity"),
    "less restricted pods": (tenant(podSecurity="baseline"), "spec.podSecurity: baseline"),
    "another level of an existing tenant": (patch(podSecurity="baseline"), "spec.podSecurity: baseline"),
    "kinds of other projects": (tenant(roles={"admin": [HELM]}), "spec.roles: grants rights on kinds"),
    "kinds of other projects for an existing tenant": (patch(roles={"admin": [HELM]}), "spec.roles"),
    "a file of the watcher": (
        tenant(extraResources=[config_map(file={SIGNATURE: "c44067f5952c0a294b673a41bacd8c17"})]),
        f"spec: must not contain {SIGNATURE}",
    ),
    "the signature in a label": (tenant(nodeSelector={SIGNATURE: "a"}), "spec: must not contain"),
}
# Requests that the schema of the CRD rejects.
REFUSED_SUBJECTS: dict[str, Attempt] = {
    "all users": tenant(rbacConfig={"groups": ["system:authenticated"]}),
    "all clients": tenant(rbacConfig={"groups": ["system:unauthenticated"]}),
    "all ServiceAccounts": tenant(
        access=[{"kind": "Group", "name": "system:serviceaccounts", "role": "admin"}]
    ),
    "clients without a name": tenant(adminUsers=["system:anonymous"]),
    "clients without a name as users": tenant(rbacConfig={"users": ["system:anonymous"]}),
    "clients without a name by access": tenant(access=[{"kind": "User", "name": "system:anonymous"}]),
}
ORDINARY: dict[str, tuple[str, Attempt]] = {
    "restricted pods": ("wendy", tenant(podSecurity="restricted", adminUsers=["wendy"])),
    "a plan and subjects": (
        *("wendy", tenant(plan="pro", access=[{"kind": "Group", "name": "team", "role": "admin"}])),
    ),
    "a ServiceAccount as a user": ("wendy", tenant(adminUsers=["system:serviceaccount:ci:deployer"])),
    "another field of a tenant with privileged pods": ("wendy", patch(displayName="Acme")),
    "privileged pods with the verb": ("paul", tenant(podSecurity="privileged")),
    "roles with the verb": ("rita", tenant(roles={"admin": [HELM]})),
}


@pytest.fixture(scope="module", autouse=True)
def writers(people: People, administrator: Person) -> Iterator[None]:
    requests = [PAUSED]
    for user, verbs in VERBS.items():
        resources = ["tenants", "tenants/status"]
        rules = [{"apiGroups": [kind.group], "resources": resources, "verbs": verbs} for kind in TENANTS]
        role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": user}
        subject = {"apiGroup": RBAC_GROUP, "kind": "User", "name": user}
        requests += [
            create(CLUSTER_ROLE, user, rules=rules),
            create(CLUSTER_ROLE_BINDING, user, roleRef=role, subjects=[subject]),
        ]
    for request in requests:
        administrator.do(request)
    for user in VERBS:
        eventually(lambda user=user: people(user).refusal(tenant()) == "", f"{user} may create Tenants")  # type: ignore[misc]
    yield
    for request in requests:
        administrator.do(request.deletion)


@pytest.mark.parametrize("attack", ATTACKS)
def test_writer_of_tenants_gets_no_other_rights(attack: str, people: People) -> None:
    request, message = ATTACKS[attack]
    refusal = people("wendy").refusal(request)
    assert denied_by("privileged-settings") in refusal
    assert message in refusal


@pytest.mark.parametrize("subjects", REFUSED_SUBJECTS)
def test_everybody_is_no_subject_of_a_tenant(subjects: str, people: People) -> None:
    assert "users of other tenants" in people("wendy").refusal(REFUSED_SUBJECTS[subjects])


@pytest.mark.parametrize("use", ORDINARY)
def test_ordinary_tenant_is_written(use: str, people: People) -> None:
    user, request = ORDINARY[use]
    assert people(user).refusal(request) == ""


@pytest.mark.parametrize(
    ("user", "request_"),
    [("paul", ATTACKS["kinds of other projects"][0]), ("rita", ATTACKS["privileged pods"][0])],
)
def test_one_verb_does_not_include_the_other(user: str, request_: Attempt, people: People) -> None:
    assert denied_by("privileged-settings") in people(user).refusal(request_)


@pytest.mark.parametrize("field", FORGED_STATUS)
def test_only_the_watcher_writes_the_status_of_tenants(field: str, people: People, carol: Person) -> None:
    for kind, name in ((TENANTS[0], "acme"), (TENANTS[1], "status-target")):
        path, body = kind.path(name=name, subresource="status"), {"status": FORGED_STATUS[field]}
        request = Attempt("PATCH", path, body, "application/merge-patch+json")
        assert denied_by("status") in people("wendy").refusal(request)
        # The watcher and administrators can write the status.
        for writer in (people(WATCHER_USER), people("stan"), carol):
            assert writer.refusal(request) == ""


@pytest.mark.parametrize(
    "spec",
    [
        {"podSecurity": "privileged"},
        {"podSecurity": "baseline"},
        {"podSecurity": "restricted"},
        {"roles": {"admin": [HELM]}},
        {"roles": {}},
        {"plan": "pro", "adminUsers": ["wendy"]},
    ],
    ids=str,
)
def test_preview_warns_about_a_new_tenant_whose_author_needs_a_verb(
    spec: dict[str, Any], people: People
) -> None:
    manifest = tenant(**spec).body
    assert manifest is not None
    documents = ManifestSet((TenantDocument(manifest, "tenants.yaml", 1),), (), 0)
    preview = Comparison(read_plans(), empty_base()).preview(documents, is_complete=False)
    warnings = [finding.message for finding in preview.findings(Severity.WARNING)]
    refusal = people("wendy").refusal(tenant(**spec))
    assert (denied_by("privileged-settings") in refusal) == bool(warnings)
    verbs = [verb for verb in ("relax-pod-security", "grant-roles") if verb in refusal]
    assert [
        verb for verb in verbs if not any(f"the verb {verb} on tenants" in text for text in warnings)
    ] == []
