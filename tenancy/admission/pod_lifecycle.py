"""Admission policies for the status and the grace period of pods, and for the status of some other kinds.

The policies prevent users from using more resources than their quotas allow. A ResourceQuota does not count a
pod whose status says that the pod has ended. So users must not write the status of pods. A pod that is being
deleted can continue to run during its grace period. So the grace period is limited.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    ANNOTATIONS,
    SYSTEM,
    TENANT_NAMESPACES,
    cel_string,
    check,
    holds_everywhere,
    policy,
    rule,
)
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import MAX_GRACE_PERIOD
from tenancy.spec.settings import MAX_GRACE_PERIOD_S

# The pod conditions that Kubernetes itself writes. Users cannot write them, even if a readiness gate of the
# pod names them.
_OWN_CONDITIONS: Final = [
    "ContainersReady",
    "DisruptionTarget",
    "Initialized",
    "PodReadyToStartContainers",
    "PodResizeInProgress",
    "PodResizePending",
    "PodScheduled",
    "Ready",
]
# Other resources whose status only controllers may write. The watcher computes the results of AISessions from
# the status of Jobs. The eviction API reads the status of PodDisruptionBudgets.
_CONTROLLED_STATUS: Final = {"batch": "jobs", "policy": "poddisruptionbudgets"}


def pod_lifecycle_policies() -> list[Manifest]:
    return [*_pod_status(), *_controlled_status(), *_grace_periods()]


def _pod_status() -> list[Manifest]:
    return policy(
        "tenancy-pod-status",
        [rule("", "pods/status", operations=["UPDATE"])],
        [
            check(
                "variables.after.all(k, k == 'conditions' || "
                "k in variables.before && variables.before[k] == variables.after[k]) && "
                "variables.before.all(k, k == 'conditions' || k in variables.after)",
                cel_string("status: only Kubernetes writes the status of pods"),
                "Forbidden",
            ),
            check(
                f"{_other_conditions('before')} == {_other_conditions('after')}",
                cel_string(
                    "status.conditions: only Kubernetes writes these conditions; others may write the "
                    "conditions that spec.readinessGates names"
                ),
                "Forbidden",
            ),
        ],
        variables={
            "before": "dyn(oldObject).?status.orValue({})",
            "after": "dyn(object).?status.orValue({})",
            "gates": "object.spec.?readinessGates.orValue([]).map(g, g.conditionType)"
            f".filter(c, !(c in {_OWN_CONDITIONS}))",
        },
        conditions={"others": f"!{SYSTEM}", "not-a-controller": _lacks_everywhere("", "pods")},
        namespaces=TENANT_NAMESPACES,
    )


def _other_conditions(version: str) -> str:
    """A CEL expression that returns all conditions of the pod that its readiness gates do not name.

    `version` is `before` or `after`, the CEL variable with the status before or after the request.
    """
    return f"variables.{version}.?conditions.orValue([]).filter(c, !(c.type in variables.gates))"


def _controlled_status() -> list[Manifest]:
    manifests = []
    for group, resource in _CONTROLLED_STATUS.items():
        manifests += policy(
            f"tenancy-{resource}-status",
            [rule(group, f"{resource}/status", operations=["UPDATE"])],
            [
                check(
                    "dyn(object).?status == dyn(oldObject).?status",
                    cel_string(f"status: only Kubernetes writes the status of {resource}"),
                    "Forbidden",
                )
            ],
            conditions={"others": f"!{SYSTEM}", "not-a-controller": _lacks_everywhere(group, resource)},
            namespaces=TENANT_NAMESPACES,
        )
    return manifests


def _lacks_everywhere(group: str, resource: str) -> str:
    """A CEL expression that is false if the sender can write the status of this resource in all namespaces.

    Otherwise, it is true.
    """
    held = [holds_everywhere(group, resource, verb, "status") for verb in ("update", "patch")]
    return f"!({' || '.join(held)})"


def _grace_periods() -> list[Manifest]:
    """The policy for the grace period in pod specs, and in requests that delete or evict a pod."""
    return policy(
        "tenancy-grace-periods",
        [
            rule("", "pods", operations=["CREATE", "DELETE"]),
            rule("", "pods/eviction", operations=["CREATE"]),
        ],
        [
            check(
                "variables.period <= variables.limit",
                "(request.operation == 'DELETE' || dyn(object).kind == 'Eviction' ? "
                "'gracePeriodSeconds: ' : 'spec.terminationGracePeriodSeconds: ') + "
                "string(variables.period) + ' is more than ' + string(variables.limit) + "
                "', the limit of this tenant; set a shorter grace period'",
            )
        ],
        variables={
            **ANNOTATIONS,
            "limit": f"int(variables.annotations[?'{MAX_GRACE_PERIOD}'].orValue('{MAX_GRACE_PERIOD_S}'))",
            "period": "request.operation == 'DELETE' ? dyn(request.options).?gracePeriodSeconds.orValue(0) : "
            "dyn(object).kind == 'Eviction' ? dyn(object).?deleteOptions.?gracePeriodSeconds.orValue(0) : "
            "dyn(object).spec.?terminationGracePeriodSeconds.orValue(0)",
        },
        namespaces=TENANT_NAMESPACES,
    )
