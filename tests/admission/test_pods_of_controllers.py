"""The admission policies let the controllers of Kubernetes create the pods of a tenant's workloads."""

from tests.admission.conftest import People
from tests.admission.people import POD, Attempt, Person, create, pod_spec
from tests.platform import Platform
from tests.waiting import eventually


def test_daemon_set_controller_selects_the_node_of_each_pod(people: People) -> None:
    """The DaemonSet controller adds a node affinity and tolerations to the pods of every DaemonSet."""
    states = ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    node = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
    spec = pod_spec(
        affinity={"nodeAffinity": {required: {"nodeSelectorTerms": [node]}}},
        tolerations=[{"key": f"node.kubernetes.io/{state}", "operator": "Exists"} for state in states],
    )
    request = create(POD, "attempt", spec=spec)
    account = "system:serviceaccount:kube-system:daemon-set-controller"
    assert people(account, "system:serviceaccounts:kube-system").refusal(request) == ""


def test_controllers_create_the_pods_of_ordinary_workloads(platform: Platform, alice: Person) -> None:
    template = {"metadata": {"labels": {"app": "ordinary"}}, "spec": pod_spec()}
    selector = {"matchLabels": {"app": "ordinary"}}
    job_template = {"spec": pod_spec(restartPolicy="Never")}
    apps, batch = "/apis/apps/v1", "/apis/batch/v1"
    workloads = {
        ("Deployment", apps): {"selector": selector, "template": template},
        ("StatefulSet", apps): {"selector": selector, "template": template, "serviceName": "none"},
        ("Job", batch): {"template": job_template},
    }
    requests = [
        Attempt(
            "POST",
            f"{api}/namespaces/tenant-acme/{kind.lower()}s",
            {
                "apiVersion": api.removeprefix("/apis/"),
                "kind": kind,
                "metadata": {"name": f"ordinary-{kind.lower()}"},
                "spec": spec,
            },
        )
        for (kind, api), spec in workloads.items()
    ]
    for request in requests:
        alice.do(request)

    def missing() -> list[str]:
        pods = [pod["metadata"]["name"] for pod in platform.admin.list(POD, namespace="tenant-acme")[0]]
        names = [f"ordinary-{kind.lower()}-" for kind, _ in workloads]
        return [name for name in names if not any(pod.startswith(name) for pod in pods)]

    try:
        eventually(lambda: not missing(), lambda: f"pods exist for {missing()}")
    finally:
        for request in requests:
            alice.do(request.deletion)
