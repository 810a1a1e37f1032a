"""A tenant's users cannot fill etcd with many objects, with large objects or with Events.

All tenants share etcd.
"""

from typing import Any

import pytest

from tenancy.base.kinds import CONFIG_MAP, EVENT, RESOURCE_QUOTA, ROLE, Kind
from tenancy.base.manifest import Manifest
from tenancy.objects.object_counts import OBJECT_COUNTS
from tests.admission.conftest import People
from tests.admission.people import (
    DEPLOYMENT,
    NAMESPACE,
    SECRET,
    Attempt,
    Person,
    change,
    container,
    create,
    denied_by,
    pod_spec,
)
from tests.waiting import eventually

REVISION = Kind("apps/v1", "ControllerRevision", "controllerrevisions")
POD_TEMPLATE = Kind("v1", "PodTemplate", "podtemplates")
NEW_EVENT = Kind("events.k8s.io/v1", "Event", "events")
KIB = 1024
CONDITION = {"type": "A", "status": "True", "message": "x" * 99_000}
READ_PODS = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


def event(kind: Kind = EVENT) -> Attempt:
    involved = {"kind": "Pod", "name": "a", "namespace": NAMESPACE}
    if kind == EVENT:
        return create(EVENT, "attempt", involvedObject=involved, reason="Made", message="up")
    fields: Manifest = {"eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "regarding": involved}
    fields |= {
        "reason": "Made",
        "action": "Make",
        "reportingController": "me.test/a",
        "reportingInstance": "a",
    }
    return create(kind, "attempt", **fields)


def deployment(**metadata: Any) -> Attempt:
    template = {"metadata": {"labels": {"app": "big"}}, "spec": pod_spec()}
    spec = {"selector": {"matchLabels": {"app": "big"}}, "template": template}
    return create(DEPLOYMENT, "attempt", spec=spec, **metadata)


# Each value is a request, and the kind that the error message contains.
LARGE: dict[str, tuple[Attempt, str]] = {
    "a ControllerRevision of 900 kB": (
        create(REVISION, "attempt", revision=1, data={"a": "x" * 900_000}),
        "controllerrevisions of a tenant is 32768",
    ),
    "a ConfigMap of 900 kB": (create(CONFIG_MAP, "attempt", data={"a": "x" * 900_000}), "configmaps"),
    "a ConfigMap in letters of four bytes": (
        create(CONFIG_MAP, "attempt", data={"a": "\N{GRINNING FACE}" * 20 * KIB}),
        "configmaps of a tenant is 65536",
    ),
    "a Secret of 900 kB": (create(SECRET, "attempt", stringData={"a": "x" * 900_000}), "secrets"),
    "a Deployment with large annotations": (deployment(annotations={"a": "x" * 200_000}), "deployments"),
    "a Role with many rules": (create(ROLE, "attempt", rules=READ_PODS * 500), "roles of a tenant is 16384"),
    "a large status": (
        change(DEPLOYMENT, "sized", {"status": {"conditions": [CONDITION]}}, subresource="status"),
        "deployments",
    ),
}
ORDINARY: dict[str, Attempt] = {
    "ConfigMap of 50 KiB": create(CONFIG_MAP, "attempt", data={"a": "x" * 50 * KIB}),
    "Secret of 32 KiB": create(SECRET, "attempt", stringData={"a": "x" * 32 * KIB}),
    "Deployment": deployment(annotations={"a": "x" * 10 * KIB}),
    "Role": create(ROLE, "attempt", rules=READ_PODS * 10),
}


@pytest.fixture(scope="module", autouse=True)
def sized(people: People) -> None:
    template = {"metadata": {"labels": {"app": "sized"}}, "spec": pod_spec(containers=[container()])}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "sized"}}, "template": template}
    people("alice").do(create(DEPLOYMENT, "sized", spec=spec))


@pytest.mark.parametrize("attack", LARGE)
def test_large_object_is_refused(attack: str, alice: Person) -> None:
    request, message = LARGE[attack]
    refusal = alice.refusal(request)
    assert denied_by("object-sizes") in refusal
    assert message in refusal


@pytest.mark.parametrize("use", ORDINARY)
def test_object_of_ordinary_size_is_allowed(use: str, alice: Person) -> None:
    assert alice.refusal(ORDINARY[use]) == ""


def test_number_of_objects_is_limited(alice: Person, administrator: Person) -> None:
    def counts() -> Manifest | None:
        """The ResourceQuota, or None until its status counts every kind in its spec.

        Kubernetes rejects new objects of a kind that the status does not count yet.
        """
        quota = administrator.get(RESOURCE_QUOTA, OBJECT_COUNTS, NAMESPACE)
        assert quota is not None
        used = quota.get("status", {}).get("used", {})
        return quota if used.keys() == quota["spec"]["hard"].keys() else None

    quota = eventually(counts, "all kinds are counted")
    *templates, one_more = (
        create(POD_TEMPLATE, f"counted-{index}", template={"spec": pod_spec()})
        for index in range(int(quota["spec"]["hard"]["count/podtemplates"]) + 1)
    )
    try:
        for template in templates:
            alice.do(template)
        refusal = alice.refusal(one_more, is_dry_run=False)
        assert f"exceeded quota: {OBJECT_COUNTS}, requested: count/podtemplates=1" in refusal
    finally:
        alice.do(Attempt("DELETE", POD_TEMPLATE.path(NAMESPACE)))


@pytest.mark.parametrize("kind", [EVENT, NEW_EVENT], ids=["core", "events.k8s.io"])
def test_users_write_no_events(kind: Kind, alice: Person) -> None:
    refusal = alice.refusal(event(kind))
    assert denied_by("events") in refusal
    assert "only components of the cluster write Events" in refusal


@pytest.mark.parametrize(
    ("user", "group"),
    [
        ("system:kube-scheduler", "system:authenticated"),
        ("carol", ""),
        ("system:serviceaccount:kube-system:replicaset-controller", "system:serviceaccounts:kube-system"),
    ],
)
def test_components_write_events(user: str, group: str, people: People) -> None:
    assert people(user, group).refusal(event()) == ""
