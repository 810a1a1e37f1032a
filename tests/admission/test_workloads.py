"""A tenant's pods and claims ask for what the tenant may have, whoever makes them."""

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


def pod_of(image: str, pull: str = "Always") -> Attempt:
    return pod(containers=[container(image, pull)])


def pod_limited(**limits: str) -> Attempt:
    amounts = {"requests": dict.fromkeys(limits, "0"), "limits": limits}
    return pod(containers=[{**container(), "resources": amounts}])


def claim(**spec: Any) -> Attempt:
    return create(CLAIM, "attempt", spec=claim_spec(**spec))


# What is tried, the policy that refuses it, and words of the reason.
DENIED: dict[str, tuple[Attempt, str, str]] = {
    "host path": (
        pod(volumes=[{"name": "host", "hostPath": {"path": "/"}}]),
        *("pods", "spec.volumes: hostPath is not allowed"),
    ),
    "no limit of memory": (
        pod_limited(cpu="100m", memory="0"),
        *("pods", "spec.containers[].resources.limits: 0 stands for no limit"),
    ),
    "no limit of CPU": (pod_limited(cpu="0m"), "pods", "resources.limits: 0 stands for no limit"),
    "no limit of an init container's": (
        pod(initContainers=[{**container(name="first"), "resources": {"limits": {"cpu": "0"}}}]),
        *("pods", "resources.limits: 0 stands for no limit"),
    ),
    "image without a registry": (pod_of("nginx"), "pods", "docker.io/library/nginx comes from no registry"),
    "image of another user": (pod_of("other/app"), "pods", "docker.io/other/app comes from no registry"),
    "image named like a user": (pod_of("docker.io/acme"), "pods", "docker.io/library/acme comes from no"),
    "user whose name begins the same": (pod_of("acmes/app"), "pods", "docker.io/acmes/app comes from no"),
    "another port of the registry": (
        pod_of("registry.example:5000/app"),
        *("pods", "allowed: registry.example, docker.io/acme, harbor.example/team"),
    ),
    "registry whose name begins the same": (
        pod_of("registry.example.evil.test/app"),
        *("pods", "spec.containers[].image: registry.example.evil.test/app"),
    ),
    "path that begins the same": (pod_of("harbor.example/teams/app"), "pods", "harbor.example/teams/app"),
    "host in capitals": (pod_of("Acme/app"), "pods", "spec.containers[].image: Acme/app"),
    "init container's image": (
        pod(initContainers=[container("evil.test/a", name="first")]),
        "pods",
        "evil.test/a comes",
    ),
    "volume's image": (
        pod(volumes=[{"name": "i", "image": {"reference": "evil.test/b", "pullPolicy": "Always"}}]),
        *("pods", "evil.test/b comes from no registry"),
    ),
    "pull policy": (
        pod_of("acme/app", "IfNotPresent"),
        *("pods", "imagePullPolicy: IfNotPresent is not allowed for this tenant; allowed: Always"),
    ),
    "priority class": (pod(priorityClassName="high"), "pods", "priorityClassName: 'high' is not allowed"),
    "the cluster's priority class": (
        pod(priorityClassName="system-node-critical"),
        *("pods", "spec.priorityClassName: system-node-critical is for the cluster itself"),
    ),
    "runtime class": (pod(runtimeClassName="raw"), "pods", "spec.runtimeClassName: 'raw' is not allowed"),
    "no node selector": (pod(nodeSelector={}), "pods", "spec.nodeSelector: must hold pool=tenants"),
    "other nodes": (pod(nodeSelector={"pool": "system"}), "pods", "must hold pool=tenants"),
    "node by name": (pod(nodeName="control-plane"), "pods", "spec.nodeName: must be left to the scheduler"),
    "storage class": (
        claim(storageClassName="slow"),
        *("claims", "spec.storageClassName: 'slow' is not allowed for this tenant; allowed: fast"),
    ),
    "no storage class": (claim(), "claims", "spec.storageClassName: '' is not allowed"),
}

ALLOWED: dict[str, Attempt] = {
    "limits": pod_limited(cpu="100m", memory="64Mi"),
    "image from the registry": pod_of("registry.example/deep/path/app:1"),
    "image of the own user": pod_of("acme/app"),
    "image of the own user in full": pod_of("docker.io/acme/app:1"),
    "image below the path": pod_of("harbor.example/team/app:1"),
    "image at the path by tag": pod_of("harbor.example/team:1"),
    "image at the path by digest": pod_of(f"harbor.example/team@{DIGEST}"),
    "priority class": pod(priorityClassName="low"),
    "runtime class": pod(runtimeClassName="sandbox"),
    "more in the node selector": pod(nodeSelector={"pool": "tenants", "disk": "ssd"}),
    "volume of a claim": pod(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]),
    "storage class": claim(storageClassName="fast"),
}


@pytest.mark.parametrize("attempt", DENIED)
def test_workload_is_refused(attempt: str, alice: Person) -> None:
    request, policy, words = DENIED[attempt]
    refusal = alice.refusal(request)
    assert denied_by(policy) in refusal
    assert words in refusal


@pytest.mark.parametrize("attempt", ALLOWED)
def test_workload_is_allowed(attempt: str, alice: Person) -> None:
    assert alice.refusal(ALLOWED[attempt]) == ""


@pytest.mark.parametrize(
    ("edit", "policy", "words"),
    [
        pytest.param(
            change(POD, "running", {"spec": {"containers": [{"name": "main", "image": "evil.test/a"}]}}),
            *("pods", "evil.test/a comes from no registry"),
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
            *("pods", "evil.test/a comes from no registry"),
            id="ephemeral container",
        ),
        pytest.param(
            change(POD, "running", {"status": {"podIPs": [{"ip": "10.0.0.1"}]}}, subresource="status"),
            *("pod-addresses", "status.podIPs: only the pod's node sets its addresses"),
            id="address",
        ),
    ],
)
def test_running_pod_gets_nothing_that_a_new_one_does_not(
    edit: Attempt, policy: str, words: str, alice: Person
) -> None:
    alice.do(create(POD, "running", spec=pod_spec()))
    try:
        refusal = alice.refusal(edit)
        assert denied_by(policy) in refusal
        assert words in refusal
        assert alice.refusal(change(POD, "running", {"metadata": {"labels": {"a": "b"}}})) == ""
    finally:
        alice.do(delete(POD, "running"))


@pytest.mark.parametrize(
    ("labels", "image", "policy"),
    [
        pytest.param({}, "evil.test/a", "pods", id="image"),
        pytest.param({"tenant.platform.ai/managed": "true"}, "acme/app", "managed-objects", id="our label"),
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
        found = platform.admin.get(REPLICA_SET, "templated", "tenant-acme") or {}
        conditions = found.get("status", {}).get("conditions", [])
        return " ".join(entry["message"] for entry in conditions if entry["type"] == "ReplicaFailure")

    try:
        assert denied_by(policy) in eventually(failure, "the controller says why there are no pods")
    finally:
        alice.do(delete(REPLICA_SET, "templated"))
