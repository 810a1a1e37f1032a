"""Pods on the simulated nodes: Jobs complete, fail and time out, and pods count against quotas."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.tools import NODE_TOOLS
from tenancy.base.kinds import NAMESPACE, RESOURCE_QUOTA, Kind
from tenancy.base.manifest import Manifest
from tests.integrations.pods import IMAGE, POD, RESTRICTED_CONTEXT, allow_pods
from tests.waiting import eventually

JOB = Kind("batch/v1", "Job", "jobs")
NODE = Kind("v1", "Node", "nodes", is_namespaced=False)
OUTCOME, MESSAGE = "kwok.tenancy/outcome", "kwok.tenancy/message"
# A real kubelet gives a deleted pod up to this many seconds to end.
GRACE_PERIOD_S = 3600

Kubectl = Callable[..., str]


@pytest.fixture(scope="module")
def admin(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("plane-with-nodes")
    with ControlPlane(tools, folder, is_throw_away=True, has_nodes=True) as plane:
        yield Cluster.connect(plane.kubeconfig)


@pytest.fixture
def namespace(admin: Cluster, request: pytest.FixtureRequest) -> str:
    """A namespace for one test. Pods can be created in it."""
    name: str = request.node.name.replace("_", "-")[:63].strip("-")
    admin.create(NAMESPACE, {"metadata": {"name": name}})
    allow_pods(admin, name)
    return name


def pod_spec() -> Manifest:
    container = {
        "name": "main",
        "image": IMAGE,
        "securityContext": RESTRICTED_CONTEXT,
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
    }
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_PERIOD_S,
        "containers": [container],
    }


def create_pod(admin: Cluster, namespace: str, name: str, **annotations: str) -> None:
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    admin.create(POD, {"metadata": metadata, "spec": pod_spec()})


def create_job(admin: Cluster, namespace: str, annotations: dict[str, str], **spec: Any) -> None:
    template = {"metadata": {"annotations": annotations}, "spec": pod_spec()}
    job = {"backoffLimit": 0, "template": template, **spec}
    admin.create(JOB, {"metadata": {"name": "work", "namespace": namespace}, "spec": job})


def await_job_end(admin: Cluster, namespace: str) -> Manifest:
    """Wait until the Job has ended. Returns its condition of type Complete or Failed."""

    def end_condition() -> Manifest | None:
        job = admin.get(JOB, "work", namespace)
        assert job is not None
        conditions: list[Manifest] = job.get("status", {}).get("conditions", [])
        return next((entry for entry in conditions if entry["type"] in ("Complete", "Failed")), None)

    return eventually(end_condition, "the Job ends")


def terminated_state(admin: Cluster, namespace: str) -> Manifest:
    """The `terminated` state of the container in the namespace's only pod."""
    (pod,), _ = admin.list(POD, namespace=namespace)
    state: Manifest = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return state


def pod_phase(admin: Cluster, namespace: str, name: str) -> str | None:
    pod = admin.get(POD, name, namespace)
    return pod["status"].get("phase") if pod else None


def await_running(admin: Cluster, namespace: str, name: str) -> None:
    eventually(lambda: pod_phase(admin, namespace, name) == "Running", f"pod {name} runs")


def test_pod_is_scheduled_on_a_ready_node_and_runs_with_addresses(admin: Cluster, namespace: str) -> None:
    create_pod(admin, namespace, "app")
    await_running(admin, namespace, "app")
    pod = admin.get(POD, "app", namespace)
    assert pod is not None
    node = admin.get(NODE, pod["spec"]["nodeName"])
    assert node is not None
    assert ("Ready", "True") in {(entry["type"], entry["status"]) for entry in node["status"]["conditions"]}
    assert pod["status"]["podIP"].startswith("10.244.")
    assert pod["status"]["hostIP"] == "127.0.0.1"
    assert pod["status"]["containerStatuses"][0]["ready"] is True


def test_job_completes_with_its_message(admin: Cluster, namespace: str) -> None:
    message = '{"outputData": "a \\"quoted\\" word: größer\\n", "metrics": {"tokensUsed": 7}}'
    create_job(admin, namespace, {MESSAGE: message})
    assert await_job_end(admin, namespace)["type"] == "Complete"
    state = terminated_state(admin, namespace)
    assert (state["exitCode"], state["reason"], state["message"]) == (0, "Completed", message)
    assert state["startedAt"] < state["finishedAt"]


def test_job_fails_with_exit_code_and_message(admin: Cluster, namespace: str) -> None:
    create_job(admin, namespace, {OUTCOME: "fail", MESSAGE: "out of tokens"})
    assert await_job_end(admin, namespace)["reason"] == "BackoffLimitExceeded"
    state = terminated_state(admin, namespace)
    assert (state["exitCode"], state["reason"], state["message"]) == (1, "Error", "out of tokens")


def test_job_that_hangs_is_ended_by_its_deadline(admin: Cluster, namespace: str) -> None:
    create_job(admin, namespace, {OUTCOME: "hang"}, activeDeadlineSeconds=1)
    assert await_job_end(admin, namespace)["reason"] == "DeadlineExceeded"
    eventually(lambda: not admin.list(POD, namespace=namespace)[0], "its pod is gone")


def test_hundred_pods_run_at_the_same_time_each_with_its_address(admin: Cluster, namespace: str) -> None:
    create_job(admin, namespace, {OUTCOME: "hang"}, parallelism=100, completions=100)

    def addresses() -> set[str]:
        pods, _ = admin.list(POD, namespace=namespace)
        return {pod["status"]["podIP"] for pod in pods if pod["status"].get("phase") == "Running"}

    eventually(lambda: len(addresses()) == 100, "all pods of the Job run")
    admin.delete(NAMESPACE, namespace)
    eventually(lambda: admin.get(NAMESPACE, namespace) is None, "the namespace is deleted")


def test_hanging_pod_ends_when_its_outcome_changes(admin: Cluster, namespace: str) -> None:
    create_pod(admin, namespace, "app", **{OUTCOME: "hang"})
    await_running(admin, namespace, "app")
    change = {"metadata": {"annotations": {OUTCOME: "complete", MESSAGE: "done"}}}
    admin.patch(POD, "app", change, namespace=namespace)
    eventually(lambda: pod_phase(admin, namespace, "app") == "Succeeded", "the pod completes")
    assert terminated_state(admin, namespace)["message"] == "done"


def test_deleted_pod_is_gone_long_before_its_grace_period_ends(admin: Cluster, namespace: str) -> None:
    create_pod(admin, namespace, "app")
    await_running(admin, namespace, "app")
    admin.delete(POD, "app", namespace)
    eventually(lambda: admin.get(POD, "app", namespace) is None, "the pod is gone")


def test_quota_fills_with_running_pods_and_has_room_again(admin: Cluster, namespace: str) -> None:
    metadata = {"name": "compute", "namespace": namespace}
    admin.create(RESOURCE_QUOTA, {"metadata": metadata, "spec": {"hard": {"requests.cpu": "1", "pods": "5"}}})

    def used_cpu() -> str | None:
        quota = admin.get(RESOURCE_QUOTA, "compute", namespace)
        cpu: str | None = (quota or {}).get("status", {}).get("used", {}).get("requests.cpu")
        return cpu

    eventually(lambda: used_cpu() == "0", "the quota has a status")
    for name in ("first", "second"):
        create_pod(admin, namespace, name)
        await_running(admin, namespace, name)
    assert used_cpu() == "1"
    with pytest.raises(ClusterError, match="exceeded quota: compute"):
        create_pod(admin, namespace, "third")
    # After the pod has ended, it no longer counts against the quota.
    admin.patch(POD, "first", {"metadata": {"annotations": {OUTCOME: "complete"}}}, namespace=namespace)
    eventually(lambda: used_cpu() == "500m", "the quota has room")
    create_pod(admin, namespace, "third")
    await_running(admin, namespace, "third")


def test_pods_wait_for_nodes_that_come_later_and_the_next_start_finds_both(
    tools: dict[str, Path], tmp_path: Path, kubectl: Kubectl
) -> None:
    folder = tmp_path / "plane"
    without_nodes = {name: path for name, path in tools.items() if name not in NODE_TOOLS}
    with ControlPlane(without_nodes, folder, is_throw_away=True) as first:
        admin = Cluster.connect(first.kubeconfig)
        create_pod(admin, "default", "kept")
        assert pod_phase(admin, "default", "kept") == "Pending"
        assert admin.list(NODE)[0] == []
        first.start_nodes(tools)
        await_running(admin, "default", "kept")
    # Remove the token of KWOK from the file. An older version of `./dev`, without nodes, wrote no such token.
    tokens = folder / "tokens.csv"
    lines = tokens.read_text().splitlines(keepends=True)
    tokens.write_text("".join(line for line in lines if ",kwok," not in line))
    with ControlPlane(tools, folder, is_throw_away=True, has_nodes=True) as second:
        assert {"kube-scheduler", "kwok"} <= set(second.pids)
        assert second.token == first.token
        admin = Cluster.connect(second.kubeconfig)
        assert pod_phase(admin, "default", "kept") == "Running"
        assert len(admin.list(NODE)[0]) == 3
        create_pod(admin, "default", "new")
        await_running(admin, "default", "new")
        with pytest.raises(AssertionError, match="Forbidden"):
            kubectl(second, "get", "secrets", "--as", "kwok", "--as-group", "system:nodes")
