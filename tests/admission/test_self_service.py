"""A tenant's user can do everything that the user's role allows, but only in this tenant."""

import pytest

from tenancy.base.kinds import CONFIG_MAP, DISRUPTION_BUDGET, ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from tenancy.base.kinds import NAMESPACE as NAMESPACES
from tests.admission.conftest import People
from tests.admission.people import (
    DEPLOYMENT,
    JOB,
    NAMESPACE,
    POD,
    SECRET,
    Attempt,
    Person,
    change,
    create,
    delete,
    pod_spec,
)

RBAC_GROUP = "rbac.authorization.k8s.io"
APP = {"matchLabels": {"app": "web"}}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()}
READ_PODS = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
READ_NODES = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}]
BOB = [{"kind": "User", "name": "bob", "apiGroup": RBAC_GROUP}]


def bind(kind: str, name: str) -> Attempt:
    role = {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}
    return create(ROLE_BINDING, "attempt", roleRef=role, subjects=BOB)


ALLOWED: dict[str, Attempt] = {
    "deployment": create(DEPLOYMENT, "attempt", spec={"selector": APP, "template": TEMPLATE}),
    "job": create(JOB, "attempt", spec={"template": {"spec": pod_spec(restartPolicy="Never")}}),
    "config map": create(CONFIG_MAP, "attempt", data={"a": "b"}, labels={"team": "blue"}),
    "secret": create(SECRET, "attempt", stringData={"a": "b"}),
    "service account": create(SERVICE_ACCOUNT, "attempt"),
    "disruption budget": create(DISRUPTION_BUDGET, "attempt", spec={"selector": APP, "minAvailable": 1}),
    "role with no more than they hold": create(ROLE, "attempt", rules=READ_PODS),
    "binding to a managed role": bind("Role", "tenant-viewer"),
}

# Each value is a user, a request by this user, and a part of RBAC's error message.
FORBIDDEN: dict[str, tuple[str, Attempt, str]] = {
    "role with more than they hold": (
        "alice",
        create(ROLE, "attempt", rules=READ_NODES),
        "attempting to grant",
    ),
    "binding to a cluster's role": ("alice", bind("ClusterRole", "cluster-admin"), "attempting to grant"),
    "own namespace's labels": (
        *("alice", change(NAMESPACES, NAMESPACE, {"metadata": {"labels": {"a": "b"}}})),
        'cannot patch resource "namespaces"',
    ),
    "own namespace's deletion": (
        "alice",
        delete(NAMESPACES, NAMESPACE),
        'cannot delete resource "namespaces"',
    ),
    "a new namespace": (
        "alice",
        create(NAMESPACES, "tenant-acme-more"),
        'cannot create resource "namespaces"',
    ),
    "operator's role": ("oscar", create(ROLE, "attempt", rules=READ_PODS), 'cannot create resource "roles"'),
    "viewer's pod": ("vera", create(POD, "attempt", spec=pod_spec()), 'cannot create resource "pods"'),
    "neighbour's config map": (
        "mallory",
        create(CONFIG_MAP, "attempt"),
        'cannot create resource "configmaps"',
    ),
    "neighbour's pod": ("mallory", delete(POD, "attempt"), 'cannot delete resource "pods"'),
    "neighbour's binding": ("mallory", bind("Role", "tenant-admin"), 'cannot create resource "rolebindings"'),
    "neighbour's secret": (
        "mallory",
        Attempt("GET", SECRET.path(NAMESPACE)),
        'cannot list resource "secrets"',
    ),
}


@pytest.mark.parametrize("attempt", ALLOWED)
def test_tenants_admin_makes_what_they_need(attempt: str, alice: Person) -> None:
    assert alice.refusal(ALLOWED[attempt]) == ""


@pytest.mark.parametrize("attempt", FORBIDDEN)
def test_rights_end_at_the_role_and_at_the_tenant(attempt: str, people: People) -> None:
    user, request, message = FORBIDDEN[attempt]
    assert message in people(user).refusal(request)


def test_own_role_can_be_made_changed_and_deleted(alice: Person) -> None:
    alice.do(create(ROLE, "reader", rules=READ_PODS))
    alice.do(change(ROLE, "reader", {"rules": []}))
    alice.do(delete(ROLE, "reader"))


def test_operator_works_without_the_admins_rights(people: People) -> None:
    assert people("oscar").refusal(ALLOWED["deployment"]) == ""
