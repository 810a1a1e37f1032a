"""Extra objects for plans and Tenants."""

from typing import Any

from tenancy.base.manifest import Manifest


def extra(kind: str, name: str, version: str = "v1", **body: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body}


OF_PLAN = [
    extra(
        "ConfigMap",
        "${tenant.name}-facts",
        data={"where": "${tenant.namespace} is for ${tenant.purpose}", "run.sh": "echo ${HOME}"},
    ),
    extra("ServiceAccount", "runner", automountServiceAccountToken=False),
]
OF_TENANT = [
    extra("Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
    extra(
        "PodDisruptionBudget",
        "web",
        "policy/v1",
        spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    ),
    extra("ResourceQuota", "jobs", spec={"hard": {"count/jobs.batch": 5, "requests.memory": "1024Mi"}}),
    extra("LimitRange", "claims", spec={"limits": [{"type": "Container", "max": {"example.com/gpu": 1}}]}),
    extra(
        "NetworkPolicy",
        "to-database",
        "networking.k8s.io/v1",
        spec={
            "podSelector": {"matchLabels": {"app": "web"}},
            "egress": [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": 5432}]}],
        },
    ),
]
