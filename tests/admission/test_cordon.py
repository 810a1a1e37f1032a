"""The users of a cordoned tenant cannot write to the tenant's namespaces.

Kubernetes controllers can still write to these namespaces.
"""

from collections.abc import Iterator
from functools import partial

import pytest

from tenancy.base.kinds import CONFIG_MAP, RBAC_GROUP, SERVICE, SERVICE_ACCOUNT, TENANTS, Kind
from tests.admission.conftest import People
from tests.admission.people import (
    NAMESPACE,
    POD,
    Attempt,
    Person,
    change,
    create,
    delete,
    denied_by,
    pod_spec,
)
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

FROZEN = "tenant-frozen"
CLUSTER_ROLE = Kind(f"{RBAC_GROUP}/v1", "ClusterRole", "clusterroles", False)
CLUSTER_ROLE_BINDING = Kind(f"{RBAC_GROUP}/v1", "ClusterRoleBinding", "clusterrolebindings", False)
CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"
ATTEMPTS: dict[str, Attempt] = {
    "create": create(CONFIG_MAP, "attempt", FROZEN),
    "update": change(CONFIG_MAP, "kube-root-ca.crt", {"data": {"a": "b"}}, FROZEN),
    "delete": delete(SERVICE_ACCOUNT, "default", FROZEN),
}


@pytest.fixture(scope="module")
def frozen(running_platform: Platform, people: People) -> Iterator[Person]:
    """The admin of a cordoned tenant."""
    manifest = tenant_manifest("frozen", adminUsers=["fred"], cordoned=True, podSecurity="privileged")
    running_platform.apply(manifest)
    running_platform.await_active(manifest)
    for kind, name in ((CONFIG_MAP, "kube-root-ca.crt"), (SERVICE_ACCOUNT, "default")):
        eventually(partial(running_platform.admin.get, kind, name, FROZEN), f"{kind.kind} {name} exists")
    yield people("fred")
    running_platform.abandon(manifest)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_cordoned_tenants_admin_writes_nothing(attempt: str, frozen: Person) -> None:
    refusal = frozen.refusal(ATTEMPTS[attempt])
    assert denied_by("cordoned") in refusal
    assert "tenant frozen is cordoned" in refusal
    assert "spec.cordoned: false" in refusal


@pytest.mark.parametrize(("kind", "subresource"), [(POD, "exec"), (POD, "portforward"), (SERVICE, "proxy")])
def test_cordoned_tenants_admin_connects_to_nothing(kind: Kind, subresource: str, frozen: Person) -> None:
    attempt = Attempt("POST", kind.path(FROZEN, "any", subresource))
    assert denied_by("cordoned") in frozen.refusal(attempt, is_dry_run=False)


def test_cordoned_tenants_admin_still_reads(frozen: Person) -> None:
    assert frozen.refusal(Attempt("GET", CONFIG_MAP.path(FROZEN))) == ""


def test_uncordoned_tenant_is_not_concerned(frozen: Person, people: People) -> None:
    assert frozen.refusal(ATTEMPTS["create"]) != ""
    assert people("alice").refusal(create(CONFIG_MAP, "attempt", NAMESPACE)) == ""


@pytest.mark.parametrize("kind", TENANTS, ids=lambda kind: kind.group)
def test_user_who_may_update_tenants_of_one_group_writes(
    kind: Kind, frozen: Person, people: People, administrator: Person
) -> None:
    user = f"updater-{TENANTS.index(kind)}"
    tenants = {"apiGroups": [kind.group], "resources": ["tenants"], "verbs": ["update"]}
    config_maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}
    role_ref = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": user}
    subjects = [{"apiGroup": RBAC_GROUP, "kind": "User", "name": user}]
    requests = [
        create(CLUSTER_ROLE, user, rules=[tenants, config_maps]),
        create(CLUSTER_ROLE_BINDING, user, roleRef=role_ref, subjects=subjects),
    ]
    for attempt in requests:
        administrator.do(attempt)
    try:
        assert frozen.refusal(ATTEMPTS["create"]) != ""
        eventually(lambda: people(user).refusal(ATTEMPTS["create"]) == "", f"{user} is exempt")
    finally:
        for attempt in requests:
            administrator.do(attempt.deletion)


@pytest.mark.parametrize(
    ("user", "attempt"),
    [
        pytest.param("carol", ATTEMPTS["create"], id="user who may update Tenants"),
        pytest.param(CONTROLLER, create(POD, "attempt", FROZEN, spec=pod_spec()), id="controller"),
    ],
)
def test_others_go_on_writing(user: str, attempt: Attempt, frozen: Person, people: People) -> None:
    assert frozen.refusal(ATTEMPTS["create"]) != ""
    assert people(user).refusal(attempt) == ""
