"""Holds an update by the watcher until a test has made its checks."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import RBAC_GROUP, ROLE_BINDING, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tests.platform import Platform, condition
from tests.waiting import eventually

_API = "flowcontrol.apiserver.k8s.io/v1"
FLOW_SCHEMA = Kind(_API, "FlowSchema", "flowschemas", False)
PRIORITY_LEVEL = Kind(_API, "PriorityLevelConfiguration", "prioritylevelconfigurations", False)
_NAME = "held"


@contextmanager
def held_updates(platform: Platform, *namespaces: str) -> Iterator[None]:
    """Make the API server hold two kinds of requests by the watcher.

    These are requests that write RoleBindings in the namespaces, and requests that delete the namespaces.
    They wait in the queue of a priority level without seats (API Priority and Fairness). The API server
    rejects a request that has waited for 15 s. Then the client sends the request again.
    """
    if platform.admin.get(PRIORITY_LEVEL, _NAME):
        platform.admin.patch(PRIORITY_LEVEL, _NAME, {"spec": _priority_level_spec(seats=0)})
    else:
        _create(platform, PRIORITY_LEVEL, _NAME, _priority_level_spec(seats=0))
    subject = {"namespace": SYSTEM_NAMESPACE, "name": WATCHER}
    held = (
        (RBAC_GROUP, "rolebindings", ["create", "patch", "update"]),
        ("", "namespaces", ["delete"]),
    )
    rule = {
        "subjects": [{"kind": "ServiceAccount", "serviceAccount": subject}],
        "resourceRules": [
            {"apiGroups": [group], "resources": [resource], "verbs": verbs, "namespaces": list(namespaces)}
            for group, resource, verbs in held
        ],
    }
    spec = {"priorityLevelConfiguration": {"name": _NAME}, "matchingPrecedence": 2, "rules": [rule]}
    # The API server delays frequent changes of a FlowSchema by up to a minute. So each FlowSchema has a new
    # name.
    name = f"{_NAME}-{secrets.token_hex(4)}"
    _create(platform, FLOW_SCHEMA, name, spec)
    # The API server sets the condition once the FlowSchema is in effect.
    eventually(
        lambda: condition(platform.admin.get(FLOW_SCHEMA, name) or {}, "Dangling").get("status") == "False",
        "the FlowSchema is in effect",
    )
    try:
        yield
    finally:
        # Do not delete the priority level: requests that are still in its queue would never leave the queue.
        platform.admin.patch(PRIORITY_LEVEL, _NAME, {"spec": _priority_level_spec(seats=100)})
        # The level has only one queue. When a later request has left the queue, the held requests have left
        # it too.
        with suppress(ClusterError):
            watcher = Cluster.connect(Path(platform.environment["KUBECONFIG"]))
            watcher.patch(ROLE_BINDING, "no-such-binding", {}, namespace=namespaces[0])
        platform.admin.delete(FLOW_SCHEMA, name)


def _priority_level_spec(seats: int) -> Manifest:
    queue = {"type": "Queue", "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 100}}
    shares = {"nominalConcurrencyShares": seats, "lendablePercent": 0, "borrowingLimitPercent": 0}
    return {"type": "Limited", "limited": {**shares, "limitResponse": queue}}


def _create(platform: Platform, kind: Kind, name: str, spec: Manifest) -> None:
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}
    platform.admin.create(kind, manifest)
