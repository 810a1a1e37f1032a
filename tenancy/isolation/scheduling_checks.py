"""Checks that a tenant's pods can use only allowed nodes and priorities, and can't block other tenants."""

from typing import Any, Final

from tenancy.base.kinds import DISRUPTION_BUDGET
from tenancy.base.labels import NODE_POOL_LABEL
from tenancy.isolation.check import PROBE, Check, Level, Request, Role, policy
from tenancy.isolation.requests import PRIORITY_CLASS, create, pod
from tenancy.isolation.target import Target

_SCHEDULING: Final = policy("scheduling")
_PODS: Final = policy("pods")
_BUDGETS: Final = policy("disruption-budgets")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _node_term(target: Target, **term: Any) -> Request:
    return pod(target, affinity={"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [term]}}})


def _other_priority_class(target: Target) -> Request:
    name = target.other_class(PRIORITY_CLASS, "priorityClasses", target.settings.priority_classes)
    return pod(target, priorityClassName=name)


def _against_other_tenants(target: Target) -> Request:
    term = {"topologyKey": "kubernetes.io/hostname", "namespaceSelector": {}, "labelSelector": {}}
    return pod(target, affinity={"podAntiAffinity": {_REQUIRED: [term]}})


def _budget(target: Target, **spec: Any) -> Request:
    return create(target, DISRUPTION_BUDGET, spec={"selector": {"matchLabels": {"app": PROBE}}, **spec})


SCHEDULING_CHECKS: Final = (
    Check(
        "node-name",
        "A pod names its node",
        Level.HOSTILE,
        Role.ADMIN,
        (_SCHEDULING,),
        lambda target: pod(target, nodeName=PROBE),
    ),
    Check(
        "node-tolerations",
        "A pod tolerates every taint",
        Level.HOSTILE,
        Role.ADMIN,
        (_SCHEDULING,),
        lambda target: pod(target, tolerations=[{"operator": "Exists"}]),
    ),
    Check(
        "node-pool-toleration",
        "A pod tolerates the taint of other tenants' nodes",
        Level.HOSTILE,
        Role.ADMIN,
        (_SCHEDULING,),
        lambda target: pod(
            target, tolerations=[{"key": NODE_POOL_LABEL, "value": PROBE, "effect": "NoSchedule"}]
        ),
    ),
    Check(
        "node-pool-selector",
        "A pod selects the dedicated nodes of another tenant",
        Level.HOSTILE,
        Role.ADMIN,
        (_SCHEDULING, _PODS),
        lambda target: pod(
            target, nodeSelector={**target.settings.forced_node_selector(), NODE_POOL_LABEL: PROBE}
        ),
    ),
    Check(
        "node-pool-affinity",
        "A pod has affinity to the dedicated nodes of another tenant",
        Level.HOSTILE,
        Role.ADMIN,
        (_SCHEDULING,),
        lambda target: _node_term(
            target, matchExpressions=[{"key": NODE_POOL_LABEL, "operator": "In", "values": [PROBE]}]
        ),
    ),
    Check(
        "node-fields",
        "A pod names its node by affinity",
        Level.HOSTILE,
        Role.ADMIN,
        (_SCHEDULING,),
        lambda target: _node_term(
            target, matchFields=[{"key": "metadata.name", "operator": "In", "values": [PROBE]}]
        ),
    ),
    Check(
        "pod-affinity",
        "A pod keeps the pods of other tenants off its nodes",
        Level.HOSTILE,
        Role.OPERATOR,
        (_SCHEDULING,),
        _against_other_tenants,
    ),
    Check(
        "system-priority",
        "A pod gets the priority of Kubernetes' own components",
        Level.HOSTILE,
        Role.ADMIN,
        (_PODS,),
        lambda target: pod(target, priorityClassName="system-node-critical"),
    ),
    Check(
        "priority-class",
        "A pod uses a priority class that is not allowed",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (policy("priority-classes"),),
        _other_priority_class,
    ),
    Check(
        "drain-max-unavailable",
        "A budget allows no disruption of its pods",
        Level.HOSTILE,
        Role.ADMIN,
        (_BUDGETS,),
        lambda target: _budget(target, maxUnavailable=0),
    ),
    Check(
        "drain-min-available",
        "A budget requires that all pods run",
        Level.HOSTILE,
        Role.ADMIN,
        (_BUDGETS,),
        lambda target: _budget(target, minAvailable="100%"),
    ),
)
