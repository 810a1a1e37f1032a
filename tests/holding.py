"""Blocks an update by the watcher halfway through, for as long as a test needs."""

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
    """Queue the watcher's writes of RoleBindings in these namespaces, and their deletions, in the API server.

    A priority level without seats (API Priority and Fairness) queues the requests. The API server rejects a
    request after 15 s in the queue, and the client retries it.
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
    # The API server delays frequent changes of a FlowSchema by up to a minute, so each one has a new name.
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
        # The level is not deleted: requests that are in its queue at its deletion stay there.
        platform.admin.patch(PRIORITY_LEVEL, _NAME, {"spec": _priority_level_spec(seats=100)})
        # The level has one queue, so the end of a later request shows that the held requests have left it.
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
