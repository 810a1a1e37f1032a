"""Admission policies for the nodes and the priority classes that the pods of a tenant may use.

The policies check all pods, including pods that a controller creates.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    ANNOTATIONS,
    SPEC_IS_NEW,
    SYSTEM_CLASSES,
    TENANT_NAMESPACES,
    allowed_suffix,
    annotation_items,
    cel_string,
    check,
    list_check,
    policy,
    rule,
    sender_is,
)
from tenancy.base.kinds import Kind
from tenancy.base.labels import NODE_POOL_LABEL
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import NODE_POOL, PRIORITY_CLASSES, TOLERATIONS

# Kubernetes adds tolerations with these keys to pods. Taints with these keys describe the state of a node.
# These taints do not restrict who may use the node.
_DEFAULT_TOLERATIONS: Final = [
    f"node.kubernetes.io/{name}"
    for name in (
        "not-ready",
        "unreachable",
        "memory-pressure",
        "disk-pressure",
        "pid-pressure",
        "network-unavailable",
        "unschedulable",
    )
]
# The users that may set `matchFields`. The DaemonSet controller selects the node of each pod by
# `matchFields`. The scheduler still checks taints and the node selector.
_DAEMON_SETS: Final = (
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:daemon-set-controller",
)
_PRIORITY_CLASS: Final = Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", False)
# CEL: whether entry `e` of the allow list allows toleration `t`. An entry has the format of `kubectl taint`:
# KEY, KEY:EFFECT, KEY=VALUE or KEY=VALUE:EFFECT.
_IS_ADMITTED: Final = (
    "e == t.?key.orValue('') || e == t.?key.orValue('') + ':' + t.?effect.orValue('') || "
    "t.?operator.orValue('Equal') == 'Equal' && "
    "(e == t.?key.orValue('') + '=' + t.?value.orValue('') || "
    "e == t.?key.orValue('') + '=' + t.?value.orValue('') + ':' + t.?effect.orValue(''))"
)
_IS_OWN_POOL: Final = (
    f"t.?key.orValue('') == '{NODE_POOL_LABEL}' && variables.pool != '' && "
    "t.?operator.orValue('Equal') == 'Equal' && t.?value.orValue('') == variables.pool"
)


def scheduling_policies() -> list[Manifest]:
    return [*_nodes(), *_priority_classes()]


def _nodes() -> list[Manifest]:
    return policy(
        "tenancy-scheduling",
        [rule("", "pods")],
        [
            check(
                "request.operation != 'CREATE' || object.spec.?nodeName.orValue('') == ''",
                cel_string("spec.nodeName: must not be set; the scheduler selects the node"),
            ),
            check(
                "variables.strange_tolerations.size() == 0",
                "'spec.tolerations: ' + variables.strange_tolerations.map(t, "
                "t.?key.orValue('') == '' ? 'every taint' : t.key).join(', ') + "
                f"' is not allowed for this tenant' + {allowed_suffix(TOLERATIONS)}",
            ),
            *_node_pool_checks(),
            check(
                "variables.pod_terms.all(t, !has(t.namespaceSelector) && "
                "t.?namespaces.orValue([]).all(n, n == request.namespace))",
                cel_string(
                    "spec.affinity: pod affinity must not name other namespaces; remove namespaces and "
                    "namespaceSelector"
                ),
            ),
        ],
        variables={
            **ANNOTATIONS,
            "pool": f"variables.annotations[?'{NODE_POOL}'].orValue('')",
            "tolerations": annotation_items(TOLERATIONS),
            "strange_tolerations": "dyn(object).spec.?tolerations.orValue([]).filter(t, "
            f"!(t.?key.orValue('') in {_DEFAULT_TOLERATIONS}) && !({_IS_OWN_POOL}) && "
            f"!variables.tolerations.exists(e, {_IS_ADMITTED}))",
            "affinity": "dyn(object).spec.?affinity.orValue({})",
            "node_terms": "variables.affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution"
            ".?nodeSelectorTerms.orValue([]) + variables.affinity.?nodeAffinity"
            ".?preferredDuringSchedulingIgnoredDuringExecution.orValue([]).map(p, p.preference)",
            "pod_terms": " + ".join(
                f"variables.affinity.?{kind}.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]) + "
                f"variables.affinity.?{kind}.?preferredDuringSchedulingIgnoredDuringExecution.orValue([])"
                ".map(p, p.podAffinityTerm)"
                for kind in ("podAffinity", "podAntiAffinity")
            ),
        },
        # A kubelet creates a mirror pod for each static pod of its node. The admission plugin NodeRestriction
        # already checks the requests of kubelets.
        conditions={"spec-is-new": SPEC_IS_NEW, "not-a-node": f"!{sender_is((), ['system:nodes'])}"},
        namespaces=TENANT_NAMESPACES,
    )


def _node_pool_checks() -> list[Manifest]:
    """Checks that reject a pod if it selects the dedicated nodes of another tenant.

    The policy `tenancy-pods` checks that the pods of a tenant with dedicated nodes select these nodes.
    """
    return [
        check(
            f"dyn(object).spec.?nodeSelector[?'{NODE_POOL_LABEL}'].orValue(variables.pool) == variables.pool",
            f"'spec.nodeSelector: {NODE_POOL_LABEL} selects the dedicated nodes of another tenant'",
        ),
        check(
            f"{sender_is(_DAEMON_SETS)} || "
            "variables.node_terms.all(t, t.?matchFields.orValue([]).size() == 0)",
            cel_string("spec.affinity.nodeAffinity: matchFields is not allowed; select nodes by labels"),
        ),
        check(
            "variables.node_terms.all(t, t.?matchExpressions.orValue([]).all(e, "
            f"e.key != '{NODE_POOL_LABEL}' || "
            "e.operator == 'In' && e.?values.orValue([]) == [variables.pool]))",
            f"'spec.affinity.nodeAffinity: {NODE_POOL_LABEL} selects the dedicated nodes of another tenant'",
        ),
    ]


def _priority_classes() -> list[Manifest]:
    """The policy for the allow list of priority classes.

    If a pod sets no class, the API server sets the global default class before it evaluates the policy. So
    the policy reads the PriorityClasses of the cluster, and always allows the global default.
    """
    priority = list_check("spec.priorityClassName", "variables.class", PRIORITY_CLASSES)
    # The policy `tenancy-pods` rejects the system classes.
    is_other = (
        "params.metadata.name != variables.class || params.?globalDefault.orValue(false) || "
        f"variables.class in {list(SYSTEM_CLASSES)}"
    )
    return policy(
        "tenancy-priority-classes",
        [rule("", "pods")],
        [{**priority, "expression": f"{is_other} || {priority['expression']}"}],
        variables={**ANNOTATIONS, "class": "object.spec.?priorityClassName.orValue('')"},
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
        parameters=_PRIORITY_CLASS,
    )
