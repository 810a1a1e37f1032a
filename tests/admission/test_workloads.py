"""The pods and PersistentVolumeClaims of a tenant use only what is allowed for the tenant.

This does not depend on who creates them.
"""

from typing import Any

import pytest

from tests.admission.people import (
    CLAIM,
    POD,
    REPLICA_SET,
    Attempt,
    Person,
    change,
    claim_spec,
    container,
    create,
    delete,
    denied_by,
    pod_spec,
)
from tests.platform import Platform
from tests.waiting import eventually

DIGEST = "sha256:" + "0" * 64


def pod(**spec: Any) -> Attempt:
    return create(POD, "attempt", spec=pod_spec(**spec))


def pod_with_image(image: str, pull: str = "Always") -> Attempt:
    return pod(containers=[container(image, pull)])


def pod_with_limits(**limits: str) -> Attempt:
    amounts = {"requests": dict.fromkeys(limits, "0"), "limits": limits}
    return pod(containers=[{**container(), "resources": amounts}])


def claim(**spec: Any) -> Attempt:
    return create(CLAIM, "attempt", spec=claim_spec(**spec))


# Each value is a request, the policy that rejects it, and a part of the error message.
DENIED: dict[str, tuple[Attempt, str, str]] = {
    "host path": (
        pod(volumes=[{"name": "host", "hostPath": {"path": "/"}}]),
        *("pods", "spec.volumes: hostPath is not allowed"),
    ),
    "no limit of memory": (
        pod_with_limits(cpu="100m", memory="0"),
        *("pods", "spec.containers[].resources.limits: 0 means no limit"),
    ),
    "no limit of CPU": (pod_with_limits(cpu="0m"), "pods", "resources.limits: 0 means no limit"),
    "no limit of an init container's": (
        pod(initContainers=[{**container(name="first"), "resources": {"limits": {"cpu": "0"}}}]),
        *("pods", "resources.limits: 0 means no limit"),
    ),
    "image without a registry": (
        pod_with_image("nginx"),
        "pods",
        "docker.io/library/nginx is not from a registry",
    ),
    "image of another user": (
        pod_with_image("other/app"),
        "pods",
        "docker.io/other/app is not from a registry",
    ),
    "image named like a user": (
        pod_with_image("docker.io/acme"),
        "pods",
        "docker.io/library/acme is not from a",
    ),
    "user whose name begins the same": (
        pod_with_image("acmes/app"),
        "pods",
        "docker.io/acmes/app is not from a",
    ),
    "another port of the registry": (
        pod_with_image("registry.example:5000/app"),
        *("pods", "allowed: registry.example, docker.io/acme, harbor.example/team"),
    ),
    "registry whose name begins the same": (
        pod_with_image("registry.example.evil.test/app"),
        *("pods", "spec.containers[].image: registry.example.evil.test/app"),
    ),
    "path that begins the same": (
        pod_with_image("harbor.example/teams/app"),
        "pods",
        "harbor.example/teams/app",
    ),
    "host in capitals": (pod_with_image("Acme/app"), "pods", "spec.containers[].image: Acme/app"),
    "init container's image": (
        pod(initContainers=[container("evil.test/a", name="first")]),
        "pods",
        "evil.test/a is not",
    ),
    "volume's image": (
        pod(volumes=[{"name": "i", "image": {"reference": "evil.test/b", "pullPolicy": "Always"}}]),
        *("pods", "evil.test/b is not from a registry"),
    ),
    "pull policy": (
        pod_with_image("acme/app", "IfNotPresent"),
        *("pods", "imagePullPolicy: IfNotPresent is not allowed for this tenant; allowed: Always"),
    ),
    "the cluster's priority class": (
        pod(priorityClassName="system-node-critical"),
        *("pods", "spec.priorityClassName: system-node-critical is reserved for the cluster"),
    ),
    "runtime class": (pod(runtimeClassName="raw"), "pods", "spec.runtimeClassName: 'raw' is not allowed"),
    "no node selector": (pod(nodeSelector={}), "pods", "spec.nodeSelector: must contain pool=tenants"),
    "other nodes": (pod(nodeSelector={"pool": "system"}), "pods", "must contain pool=tenants"),
    "storage class": (
        claim(storageClassName="slow"),
        *("claims", "spec.storageClassName: 'slow' is not allowed for this tenant; allowed: fast"),
    ),
    "no storage class": (claim(), "claims", "spec.storageClassName: '' is not allowed"),
}

ALLOWED: dict[str, Attempt] = {
    "limits": pod_with_limits(cpu="100m", memory="64Mi"),
    "image from the registry": pod_with_image("registry.example/deep/path/app:1"),
    "image of the own user": pod_with_image("acme/app"),
    "image of the own user in full": pod_with_image("docker.io/acme/app:1"),
    "image below the path": pod_with_image("harbor.example/team/app:1"),
    "image at the path by tag": pod_with_image("harbor.example/team:1"),
    "image at the path by digest": pod_with_image(f"harbor.example/team@{DIGEST}"),
    "priority class": pod(priorityClassName="low"),
    "runtime class": pod(runtimeClassName="sandbox"),
    "more in the node selector": pod(nodeSelector={"pool": "tenants", "disk": "ssd"}),
    "volume of a claim": pod(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]),
    "storage class": claim(storageClassName="fast"),
}


@pytest.mark.parametrize("attempt", DENIED)
def test_workload_is_refused(attempt: str, alice: Person) -> None:
    request, policy, message = DENIED[attempt]
    refusal = alice.refusal(request)
    assert denied_by(policy) in refusal
    assert message in refusal


@pytest.mark.parametrize("attempt", ALLOWED)
def test_workload_is_allowed(attempt: str, alice: Person) -> None:
    assert alice.refusal(ALLOWED[attempt]) == ""


@pytest.mark.parametrize(
    ("edit", "policy", "message"),
    [
        pytest.param(
            change(POD, "running", {"spec": {"containers": [{"name": "main", "image": "evil.test/a"}]}}),
            *("pods", "evil.test/a is not from a registry"),
            id="image",
        ),
        pytest.param(
            change(
                *(
                    POD,
                    "running",
                    {"spec": {"ephemeralContainers": [container("evil.test/a", name="debug")]}},
                ),
                subresource="ephemeralcontainers",
            ),
            *("pods", "evil.test/a is not from a registry"),
            id="ephemeral container",
        ),
    ],
)
def test_running_pod_gets_nothing_that_a_new_one_does_not(
    edit: Attempt, policy: str, message: str, alice: Person
) -> None:
    alice.do(create(POD, "running", spec=pod_spec()))
    try:
        refusal = alice.refusal(edit)
        assert denied_by(policy) in refusal
        assert message in refusal
        assert alice.refusal(change(POD, "running", {"metadata": {"labels": {"a": "b"}}})) == ""
    finally:
        alice.do(delete(POD, "running"))


@pytest.mark.parametrize(
    ("labels", "image", "policy"),
    [
        pytest.param({}, "evil.test/a", "pods", id="image"),
        pytest.param(
            {"tenant.platform.ai/managed": "true"}, "acme/app", "managed-objects", id="platform label"
        ),
    ],
)
def test_template_brings_in_nothing_that_a_pod_does_not(
    labels: dict[str, str], image: str, policy: str, platform: Platform, alice: Person
) -> None:
    template = {
        "metadata": {"labels": {"app": "a", **labels}},
        "spec": pod_spec(containers=[container(image)]),
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    alice.do(create(REPLICA_SET, "templated", spec=spec))

    def failure() -> str:
        replica_set = platform.admin.get(REPLICA_SET, "templated", "tenant-acme") or {}
        conditions = replica_set.get("status", {}).get("conditions", [])
        return " ".join(entry["message"] for entry in conditions if entry["type"] == "ReplicaFailure")

    try:
        assert denied_by(policy) in eventually(failure, "the controller reports why it cannot create pods")
    finally:
        alice.do(delete(REPLICA_SET, "templated"))
