"""A tenant's operator cannot gain the rights of an admin, and a tenant cannot grant rights to all users."""

from collections.abc import Iterator
from typing import Any

import pytest

from tenancy.admission.identities import COMPARED_RIGHTS
from tenancy.base.kinds import JOB, ROLE_BINDING, SERVICE_ACCOUNT, STATEFUL_SET, Kind
from tenancy.base.manifest import Manifest
from tenancy.objects.roles import ROLE_RULES
from tenancy.spec.access import AccessRole
from tests.admission.conftest import People
from tests.admission.people import (
    DEPLOYMENT,
    NAMESPACE,
    POD,
    REPLICA_SET,
    SECRET,
    Attempt,
    Person,
    change,
    create,
    denied_by,
    pod_spec,
)

RBAC_GROUP = "rbac.authorization.k8s.io"
CRON_JOB = Kind("batch/v1", "CronJob", "cronjobs")
DAEMON_SET = Kind("apps/v1", "DaemonSet", "daemonsets")
REVISION = Kind("apps/v1", "ControllerRevision", "controllerrevisions")
TOKEN = "kubernetes.io/service-account-token"
SELECTOR = {"matchLabels": {"app": "identity"}}


def template(account: str = "", **spec: Any) -> Manifest:
    spec = pod_spec(**({"serviceAccountName": account} if account else {}), **spec)
    return {"metadata": {"labels": SELECTOR["matchLabels"]}, "spec": spec}


def workload(kind: Kind, account: str = "") -> Attempt:
    spec: Manifest = {"selector": SELECTOR, "template": template(account)}
    spec |= {"serviceName": "none"} if kind == STATEFUL_SET else {}
    return create(kind, "attempt", spec=spec)


def job(account: str = "") -> Attempt:
    return create(JOB, "attempt", spec={"template": template(account, restartPolicy="Never")})


def cron_job(account: str = "") -> Attempt:
    job_spec = {"template": template(account, restartPolicy="Never")}
    return create(CRON_JOB, "attempt", spec={"schedule": "0 0 * * *", "jobTemplate": {"spec": job_spec}})


def revision(**pod: Any) -> Attempt:
    return create(REVISION, "attempt", revision=1, data={"spec": {"template": {"spec": pod_spec(**pod)}}})


def token_secret(account: str) -> Attempt:
    return create(SECRET, "attempt", type=TOKEN, annotations={"kubernetes.io/service-account.name": account})


def token_request(account: str) -> Attempt:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    return Attempt("POST", SERVICE_ACCOUNT.path(NAMESPACE, account, "token"), body)


def new_image(kind: Kind, name: str) -> Attempt:
    containers = [{"name": "main", "image": "registry.example/mine:1"}]
    body = {"spec": {"containers": containers}}
    return change(kind, name, body if kind == POD else {"spec": {"template": body}})


# Each value is a request that the tenant's operator sends, and the policy that rejects this request.
ATTACKS: dict[str, tuple[Attempt, str]] = {
    "a Secret gets a token of the admin's account": (token_secret("boss"), "token-secrets"),
    "a request for a token of the admin's account": (token_request("boss"), "token-requests"),
    "a pod runs as the admin's account": (
        create(POD, "attempt", spec=pod_spec(serviceAccountName="boss")),
        "pod-accounts",
    ),
    "a pod names the admin's account by the old field": (
        create(POD, "attempt", spec=pod_spec(serviceAccount="boss")),
        "pod-accounts",
    ),
    "a Deployment runs as the admin's account": (workload(DEPLOYMENT, "boss"), "pod-accounts"),
    "a ReplicaSet runs as the admin's account": (workload(REPLICA_SET, "boss"), "pod-accounts"),
    "a StatefulSet runs as the admin's account": (workload(STATEFUL_SET, "boss"), "pod-accounts"),
    "a DaemonSet runs as the admin's account": (workload(DAEMON_SET, "boss"), "pod-accounts"),
    "a Job runs as the admin's account": (job("boss"), "pod-accounts"),
    "a CronJob runs as the admin's account": (cron_job("boss"), "pod-accounts"),
    "a ControllerRevision names the admin's account": (
        revision(serviceAccountName="boss"),
        "pod-accounts",
    ),
    "a ControllerRevision names it by the old field": (revision(serviceAccount="boss"), "pod-accounts"),
    "a pod of the admin's account gets another image": (new_image(POD, "identity"), "pod-accounts"),
    "a Deployment of the admin's account gets another image": (
        new_image(DEPLOYMENT, "identity"),
        "pod-accounts",
    ),
}

ORDINARY: dict[str, Attempt] = {
    "pod of the default account": create(POD, "attempt", spec=pod_spec()),
    "pod of an account without rights": create(POD, "attempt", spec=pod_spec(serviceAccountName="app")),
    "Deployment": workload(DEPLOYMENT),
    "Deployment of an account without rights": workload(DEPLOYMENT, "app"),
    "StatefulSet": workload(STATEFUL_SET, "app"),
    "Job": job("app"),
    "CronJob": cron_job(),
    "labels of a Deployment of the admin's account": change(
        DEPLOYMENT, "identity", {"metadata": {"labels": {"a": "b"}}}
    ),
    "replicas of a Deployment of the admin's account": change(
        DEPLOYMENT, "identity", {"spec": {"replicas": 2}}
    ),
    "token of an account without rights": token_secret("app"),
    "request for a token of an account without rights": token_request("app"),
    "other Secret": create(SECRET, "attempt", stringData={"a": "b"}),
}


def bind(kind: str, name: str) -> Attempt:
    subject = {"kind": kind, "name": name, "apiGroup": RBAC_GROUP}
    if kind == "ServiceAccount":
        subject = {"kind": kind, "name": name, "namespace": NAMESPACE}
    role = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": "tenant-viewer"}
    return create(ROLE_BINDING, "attempt", roleRef=role, subjects=[subject])


EVERYBODY = [
    ("Group", "system:authenticated"),
    ("Group", "system:unauthenticated"),
    ("Group", "system:serviceaccounts"),
    ("Group", "system:serviceaccounts:tenant-rival"),
    ("User", "system:anonymous"),
]
SUBJECTS = [("User", "bob"), ("Group", "team"), ("ServiceAccount", "app")]


@pytest.fixture(scope="module", autouse=True)
def accounts(people: People) -> Iterator[None]:
    """Create two ServiceAccounts, and workloads that use the ServiceAccount `boss`.

    `boss` has the rights of the tenant's admin. `app` has no rights.
    """
    alice = people("alice")
    role = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": "tenant-admin"}
    boss = [{"kind": "ServiceAccount", "name": "boss", "namespace": NAMESPACE}]
    requests = (
        create(SERVICE_ACCOUNT, "boss"),
        create(SERVICE_ACCOUNT, "app"),
        create(ROLE_BINDING, "boss", roleRef=role, subjects=boss),
        create(POD, "identity", spec=pod_spec(serviceAccountName="boss")),
        create(
            DEPLOYMENT, "identity", spec={"replicas": 0, "selector": SELECTOR, "template": template("boss")}
        ),
    )
    for request in requests:
        alice.do(request)
    yield
    for request in requests:
        alice.do(request.deletion)


@pytest.mark.parametrize("attack", ATTACKS)
def test_operator_does_not_use_the_admins_account(attack: str, people: People) -> None:
    request, policy = ATTACKS[attack]
    refusal = people("oscar").refusal(request)
    assert denied_by(policy) in refusal
    assert "ServiceAccount boss has rights that you lack" in refusal


@pytest.mark.parametrize("use", ORDINARY)
def test_operator_uses_other_accounts(use: str, people: People) -> None:
    assert people("oscar").refusal(ORDINARY[use]) == ""


@pytest.mark.parametrize("attack", ATTACKS)
def test_admin_uses_the_admins_account(attack: str, alice: Person) -> None:
    assert alice.refusal(ATTACKS[attack][0]) == ""


def test_rights_that_only_the_admin_has_are_compared() -> None:
    def writable(role: AccessRole) -> set[tuple[str, str]]:
        return {
            (group, resource)
            for rule in ROLE_RULES[role]
            if "create" in rule["verbs"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            if "/" not in resource
        }

    compared = {
        (group, resource) for group, resource, verb, is_everywhere in COMPARED_RIGHTS if verb == "create"
    }
    assert writable(AccessRole.ADMIN) - writable(AccessRole.OPERATOR) <= compared


@pytest.mark.parametrize(("kind", "name"), EVERYBODY)
def test_rights_are_not_granted_to_everybody(kind: str, name: str, alice: Person) -> None:
    refusal = alice.refusal(bind(kind, name))
    assert denied_by("role-bindings") in refusal
    assert "subjects: a tenant must not grant rights to system: groups" in refusal


@pytest.mark.parametrize(("kind", "name"), SUBJECTS)
def test_rights_are_granted_to_known_subjects(kind: str, name: str, alice: Person) -> None:
    assert alice.refusal(bind(kind, name)) == ""
