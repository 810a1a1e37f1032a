"""Only the platform can change managed objects and set the labels of managed objects."""

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
SERVICE_SPEC = {"selector": {"app": "a"}, "ports": [{"port": 80}]}
MANAGED = {"tenant.platform.ai/managed": "true"}
WITHOUT_MANAGED_LABEL = {"metadata": {"labels": dict.fromkeys(MANAGED)}}


def change_metadata(**metadata: Any) -> Attempt:
    """A request that changes the metadata of the tenant's namespace."""
    return change(NAMESPACES, NAMESPACE, {"metadata": metadata})


# Requests by the tenant's admin. RBAC allows each of these requests.
DENIED_TO_THE_ADMIN: dict[str, tuple[Attempt, str]] = {
    "own rights": (
        change(ROLE, "tenant-admin", {"rules": []}),
        "only the platform sets tenant.platform.ai/managed=true",
    ),
    "own binding": (change(ROLE_BINDING, "tenant-admin", {"subjects": EVE}), "change the Tenant instead"),
    "deletion of a policy": (delete(NETWORK_POLICY, "default-deny-all"), "change the Tenant instead"),
    "rules of a policy": (
        change(NETWORK_POLICY, "default-deny-all", {"spec": {"ingress": [{}]}}),
        "the Tenant",
    ),
    "limits": (delete(LIMIT_RANGE, "tenant-limits"), "change the Tenant instead"),
    "quota": (change(RESOURCE_QUOTA, "tenant-quota", {"spec": {"hard": {"pods": "99"}}}), "the Tenant"),
    "label off": (change(ROLE, "tenant-viewer", WITHOUT_MANAGED_LABEL), "change the Tenant instead"),
    "label on": (
        create(CONFIG_MAP, "forged", labels=MANAGED),
        "only the platform sets tenant.platform.ai/managed=true",
    ),
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
        "only the platform sets tenant.platform.ai/managed=true",
    ),
}

# Requests by a user who has all rights that RBAC can grant.
DENIED_TO_A_CLUSTER_ADMIN: dict[str, tuple[Attempt, str, str]] = {
    "role": (delete(ROLE, "tenant-admin"), "managed-objects", "change the Tenant instead"),
    "namespace's deletion": (
        delete(NAMESPACES, NAMESPACE),
        *("managed-namespaces", "namespace tenant-acme belongs to tenant acme; to delete"),
    ),
    "namespace's managed label": (
        change_metadata(labels=dict.fromkeys(MANAGED)),
        "managed-namespaces",
        "metadata.labels",
    ),
    "namespace's tenant": (
        change_metadata(labels={"tenant.platform.ai/name": "rival"}),
        *("managed-namespaces", "metadata.labels: in a tenant's namespace, only the platform"),
    ),
    "pod security": (
        change_metadata(labels={"pod-security.kubernetes.io/enforce": None}),
        *("managed-namespaces", "pod-security.kubernetes.io/*"),
    ),
    "mesh": (change_metadata(labels={"istio-injection": None}), "managed-namespaces", "istio-injection"),
    "list": (
        change_metadata(annotations={"policy.platform.ai/registries": "evil.test"}),
        *("managed-namespaces", "metadata.annotations: in a tenant's namespace, only the platform"),
    ),
    "forced nodes": (
        change_metadata(annotations={"scheduler.alpha.kubernetes.io/node-selector": None}),
        *("managed-namespaces", "metadata.annotations"),
    ),
    "namespace's owner": (
        change_metadata(
            ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "none"}]
        ),
        *("managed-namespaces", "metadata.ownerReferences: must not change in a tenant's namespace"),
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
    "labels of their own": change_metadata(labels={"team": "blue"}),
    "annotations of their own": change_metadata(annotations={"team": "blue"}),
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
    request, message = DENIED_TO_THE_ADMIN[attempt]
    refusal = alice.refusal(request)
    assert denied_by("managed-objects") in refusal
    assert message in refusal


@pytest.mark.parametrize("attempt", DENIED_TO_A_CLUSTER_ADMIN)
def test_cluster_admin_changes_nothing_of_the_platforms(attempt: str, carol: Person) -> None:
    request, policy, message = DENIED_TO_A_CLUSTER_ADMIN[attempt]
    refusal = carol.refusal(request)
    assert denied_by(policy) in refusal
    assert message in refusal


@pytest.mark.parametrize("attempt", ALLOWED_TO_A_CLUSTER_ADMIN)
def test_cluster_admin_keeps_what_is_not_the_platforms(attempt: str, carol: Person) -> None:
    assert carol.refusal(ALLOWED_TO_A_CLUSTER_ADMIN[attempt]) == ""


@pytest.mark.parametrize(
    ("user", "group"),
    [
        pytest.param("system:serviceaccount:tenancy-system:tenancy-watcher", "", id="the watcher"),
        pytest.param("root", "system:masters", id="an administrator"),
        pytest.param("carol", "tenancy:operators", id="an operator"),
        pytest.param("system:serviceaccount:kube-system:namespace-controller", "", id="a namespace's end"),
    ],
)
def test_platform_may_delete_what_it_manages(user: str, group: str, people: People) -> None:
    assert people(user, group).refusal(delete(ROLE, "tenant-admin")) == ""


def test_operators_need_rights_of_their_own_beside_their_group(people: People) -> None:
    refusal = people("olga", "tenancy:operators").refusal(delete(ROLE, "tenant-admin"))
    assert 'cannot delete resource "roles"' in refusal


def test_kubernetes_serves_a_managed_service(administrator: Person, people: People) -> None:
    """Kubernetes can create and delete the EndpointSlices of a managed Service.

    Its controllers copy the labels of a Service to the EndpointSlices, so the EndpointSlices are managed
    objects too.
    """
    service = create(SERVICE, "served", "default", labels=MANAGED, spec=SERVICE_SPEC)
    assert people("carol").refusal(service) != ""
    administrator.do(service)

    def slice_names() -> list[str]:
        slices, _ = administrator.list(ENDPOINT_SLICE, "tenant.platform.ai/managed=true")
        return [manifest["metadata"]["generateName"] for manifest in slices]

    try:
        assert eventually(slice_names, "the Service has an EndpointSlice") == ["served-"]
    finally:
        administrator.do(service.deletion)
    eventually(lambda: not slice_names(), "its EndpointSlices are deleted")
