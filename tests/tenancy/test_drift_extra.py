"""Drift of extra objects: defaults of the API server are not drift, and edits are reverted."""

from collections.abc import Callable
from typing import Any

import pytest

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.desired import desired_state
from tenancy.drift import object_drift, repair_patch
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from tests.tenancy.served import as_served


def extra(kind: str, version: str = "v1", **body: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **body}


EXTRAS = desired_state(
    tenant_from_manifest(
        {
            "metadata": {"name": "acme"},
            "spec": {
                "extraResources": [
                    extra("ConfigMap", data={"a": "1"}),
                    extra("ServiceAccount", automountServiceAccountToken=False),
                    extra("Service", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
                    extra("LimitRange", spec={"limits": [{"type": "Container", "max": {"cpu": 1}}]}),
                    extra(
                        "PodDisruptionBudget",
                        "policy/v1",
                        spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
                    ),
                ]
            },
        }
    ),
    read_plans(),
)
# The defaults and other fields that the API server adds to objects of each kind.
SERVER_ADDITIONS: dict[str, Callable[[Manifest], Any]] = {
    "ConfigMap": lambda live: live.pop("binaryData"),
    "ServiceAccount": lambda live: live.update(secrets=[{"name": "x-token"}]),
    "Service": lambda live: live["spec"].update(
        clusterIP="10.96.0.9",
        clusterIPs=["10.96.0.9"],
        ipFamilies=["IPv4"],
        ipFamilyPolicy="SingleStack",
        internalTrafficPolicy="Cluster",
        sessionAffinity="None",
        ports=[{"port": 80, "protocol": "TCP", "targetPort": 80}],
    ),
    "LimitRange": lambda live: live["spec"]["limits"][0].update(
        default={"cpu": "1"}, defaultRequest={"cpu": "1"}
    ),
    "PodDisruptionBudget": lambda live: live.update(status={"currentHealthy": 0}),
}
EDITED: dict[str, tuple[str, Callable[[Manifest], Any], str, Manifest]] = {
    "changed data": (
        "ConfigMap",
        lambda live: live["data"].update(a="2"),
        "data.a changed",
        {"data": {"a": "1"}},
    ),
    "one more key": (
        "ConfigMap",
        lambda live: live.update(binaryData={"b": "eA=="}),
        "binaryData.b changed",
        {"binaryData": {"b": None}},
    ),
    "a mounted token": (
        "ServiceAccount",
        lambda live: live.update(automountServiceAccountToken=True),
        "automountServiceAccountToken changed",
        {"automountServiceAccountToken": False},
    ),
    "a service's type": (
        "Service",
        lambda live: live["spec"].update(type="NodePort"),
        "spec.type changed",
        {"spec": {"type": "ClusterIP"}},
    ),
    "a service's selector": (
        "Service",
        lambda live: live["spec"]["selector"].update(more="x"),
        "spec.selector.more changed",
        {"spec": {"selector": {"more": None}}},
    ),
    "a service's external IP": (
        "Service",
        lambda live: live["spec"].update(externalIPs=["192.0.2.1"]),
        "spec.externalIPs changed",
        {"spec": {"externalIPs": []}},
    ),
    "a disruption budget": (
        "PodDisruptionBudget",
        lambda live: live["spec"].update(minAvailable=0),
        "spec.minAvailable changed",
        {"spec": {"minAvailable": 1}},
    ),
    "a raised limit": (
        "LimitRange",
        lambda live: live["spec"]["limits"][0]["max"].update(cpu="9"),
        "spec.limits[0].max.cpu changed",
        {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}},
    ),
}


def desired_and_live(kind: str) -> tuple[Manifest, Manifest]:
    """An extra object, and its live object with the fields that the API server adds."""
    desired = EXTRAS.by_key[ObjectKey(kind, "tenant-acme", "x")]
    live = as_served(desired)
    SERVER_ADDITIONS[kind](live)
    return desired, live


@pytest.mark.parametrize("kind", SERVER_ADDITIONS)
def test_what_the_server_adds_to_an_extra_object_is_no_drift(kind: str) -> None:
    desired, live = desired_and_live(kind)
    assert object_drift(desired, live) is None
    assert repair_patch(desired, live) == {}


@pytest.mark.parametrize("case", EDITED)
def test_edited_extra_object_is_put_back(case: str) -> None:
    kind, change, difference, patch = EDITED[case]
    desired, live = desired_and_live(kind)
    change(live)
    assert object_drift(desired, live) == difference
    assert repair_patch(desired, live) == patch
