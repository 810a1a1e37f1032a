"""What the platform manages is changed by the platform alone, and its labels cannot be forged."""

from typing import Any

import pytest

from tenancy.base.kinds import (
    CONFIG_MAP,
    LIMIT_RANGE,
    NETWORK_POLICY,
    RESOURCE_QUOTA,
    ROLE,
    ROLE_BINDING,
    SERVICE,
)
from tenancy.base.kinds import NAMESPACE as NAMESPACES
from tests.admission.conftest import People
from tests.admission.people import (
    ENDPOINT_SLICE,
    NAMESPACE,
    Attempt,
    Person,
    change,
    create,
    delete,
    denied_by,
)
from tests.waiting import eventually

EVE = [{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}]
SERVED = {"selector": {"app": "a"}, "ports": [{"port": 80}]}
MANAGED = {"tenant.platform.ai/managed": "true"}
NOT_MANAGED = {"metadata": {"labels": dict.fromkeys(MANAGED)}}


def note(**metadata: Any) -> Attempt:
    """A change of the tenant's namespace."""
    return change(NAMESPACES, NAMESPACE, {"metadata": metadata})


# By the tenant's own admin, whose rights would do for each of them.
DENIED_TO_THE_ADMIN: dict[str, tuple[Attempt, str]] = {
    "own rights": (change(ROLE, "tenant-admin", {"rules": []}), "managed=true is set by the platform alone"),
    "own binding": (change(ROLE_BINDING, "tenant-admin", {"subjects": EVE}), "change the Tenant instead"),
    "wall's deletion": (delete(NETWORK_POLICY, "default-deny-all"), "change the Tenant instead"),
    "wall's rules": (change(NETWORK_POLICY, "default-deny-all", {"spec": {"ingress": [{}]}}), "the Tenant"),
    "limits": (delete(LIMIT_RANGE, "tenant-limits"), "change the Tenant instead"),
    "quota": (change(RESOURCE_QUOTA, "tenant-quota", {"spec": {"hard": {"pods": "99"}}}), "the Tenant"),
    "label off": (change(ROLE, "tenant-viewer", NOT_MANAGED), "change the Tenant instead"),
    "label on": (create(CONFIG_MAP, "forged", labels=MANAGED), "managed=true is set by the platform alone"),
    "another tenant's label": (
        create(CONFIG_MAP, "forged", labels={"tenant.platform.ai/name": "rival"}),
        "metadata.labels: only the platform sets labels tenant.platform.ai/*",
    ),
    "managed, but false": (
        create(CONFIG_MAP, "forged", labels={"tenant.platform.ai/managed": "false"}),
        "only the platform sets labels",
    ),
    "label on what is there": (
        change(CONFIG_MAP, "kube-root-ca.crt", {"metadata": {"labels": MANAGED}}),
        "managed=true is set by the platform alone",
    ),
}

# By somebody with all rights that RBAC can give.
DENIED_TO_A_CLUSTER_ADMIN: dict[str, tuple[Attempt, str, str]] = {
    "role": (delete(ROLE, "tenant-admin"), "managed-objects", "change the Tenant instead"),
    "namespace's deletion": (
        delete(NAMESPACES, NAMESPACE),
        *("managed-namespaces", "namespace tenant-acme belongs to tenant acme; delete the Tenant instead"),
    ),
    "namespace's managed label": (
        note(labels=dict.fromkeys(MANAGED)),
        "managed-namespaces",
        "metadata.labels",
    ),
    "namespace's tenant": (
        note(labels={"tenant.platform.ai/name": "rival"}),
        *("managed-namespaces", "metadata.labels: in a tenant's namespace some"),
    ),
    "pod security": (
        note(labels={"pod-security.kubernetes.io/enforce": None}),
        *("managed-namespaces", "pod-security.kubernetes.io/*"),
    ),
    "mesh": (note(labels={"istio-injection": None}), "managed-namespaces", "istio-injection"),
    "list": (
        note(annotations={"policy.platform.ai/registries": "evil.test"}),
        *("managed-namespaces", "metadata.annotations: in a tenant's namespace some"),
    ),
    "forced nodes": (
        note(annotations={"scheduler.alpha.kubernetes.io/node-selector": None}),
        *("managed-namespaces", "metadata.annotations"),
    ),
    "namespace's owner": (
        note(ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "none"}]),
        *("managed-namespaces", "metadata.ownerReferences: a tenant's namespace must not go with another"),
    ),
    "label by the status": (
        change(NAMESPACES, NAMESPACE, {"metadata": {"labels": dict.fromkeys(MANAGED)}}, subresource="status"),
        *("managed-namespaces", "metadata.labels"),
    ),
    "forged namespace": (
        create(NAMESPACES, "forged", labels={**MANAGED, "tenant.platform.ai/name": "acme"}),
        *("managed-namespaces", "metadata.labels"),
    ),
    "taken namespace": (
        change(NAMESPACES, "default", {"metadata": {"labels": {"tenant.platform.ai/name": "acme"}}}),
        *("managed-namespaces", "metadata.labels"),
    ),
}

ALLOWED_TO_A_CLUSTER_ADMIN: dict[str, Attempt] = {
    "labels of their own": note(labels={"team": "blue"}),
    "annotations of their own": note(annotations={"team": "blue"}),
    "another namespace": create(
        NAMESPACES, "free", labels={"pod-security.kubernetes.io/enforce": "baseline"}
    ),
    "another namespace's labels": change(
        NAMESPACES, "default", {"metadata": {"labels": {"istio-injection": "disabled"}}}
    ),
    "another namespace's end": delete(NAMESPACES, "tenancy-system"),
}


@pytest.mark.parametrize("attempt", DENIED_TO_THE_ADMIN)
def test_tenants_admin_changes_nothing_managed(attempt: str, alice: Person) -> None:
    request, words = DENIED_TO_THE_ADMIN[attempt]
    refusal = alice.refusal(request)
    assert denied_by("managed-objects") in refusal
    assert words in refusal


@pytest.mark.parametrize("attempt", DENIED_TO_A_CLUSTER_ADMIN)
def test_cluster_admin_changes_nothing_of_the_platforms(attempt: str, carol: Person) -> None:
    request, policy, words = DENIED_TO_A_CLUSTER_ADMIN[attempt]
    refusal = carol.refusal(request)
    assert denied_by(policy) in refusal
    assert words in refusal


@pytest.mark.parametrize("attempt", ALLOWED_TO_A_CLUSTER_ADMIN)
def test_cluster_admin_keeps_what_is_not_the_platforms(attempt: str, carol: Person) -> None:
    assert carol.refusal(ALLOWED_TO_A_CLUSTER_ADMIN[attempt]) == ""


@pytest.mark.parametrize(
    ("user", "group"),
    [
        pytest.param("system:serviceaccount:tenancy-system:tenancy-watcher", "", id="the watcher"),
        pytest.param("root", "system:masters", id="an administrator"),
        pytest.param("carol", "tenancy:operators", id="an operator"),
        pytest.param("carol", "system:serviceaccounts:hnc-system", id="an integration's controller"),
        pytest.param("system:serviceaccount:kube-system:namespace-controller", "", id="a namespace's end"),
    ],
)
def test_platform_may_delete_what_it_manages(user: str, group: str, people: People) -> None:
    assert people(user, group).refusal(delete(ROLE, "tenant-admin")) == ""


def test_operators_need_rights_of_their_own_beside_their_group(people: People) -> None:
    refusal = people("olga", "tenancy:operators").refusal(delete(ROLE, "tenant-admin"))
    assert 'cannot delete resource "roles"' in refusal


def test_kubernetes_serves_a_managed_service(administrator: Person, people: People) -> None:
    """Its controllers copy the Service's labels to what they make of it."""
    service = create(SERVICE, "served", "default", labels=MANAGED, spec=SERVED)
    assert people("carol").refusal(service) != ""
    administrator.do(service)

    def slices() -> list[str]:
        found, _ = administrator.list(ENDPOINT_SLICE, "tenant.platform.ai/managed=true")
        return [manifest["metadata"]["generateName"] for manifest in found]

    try:
        assert eventually(slices, "the Service has endpoints") == ["served-"]
    finally:
        administrator.do(service.undone)
    eventually(lambda: not slices(), "its endpoints went with it")
