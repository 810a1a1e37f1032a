"""Checks that the pods of a tenant can't control nodes, or use images and resources that are not allowed."""

from typing import Final

from tenancy.base.kinds import LIMIT_RANGE
from tenancy.base.quantity import canonical_quantity, quantity_value
from tenancy.isolation.check import (
    BASELINE,
    PROBE,
    RESTRICTED,
    Check,
    Layer,
    Level,
    NotApplicable,
    Protection,
    Request,
    Role,
    policy,
    tenant_object,
)
from tenancy.isolation.requests import RUNTIME_CLASS, pod, with_security
from tenancy.isolation.target import Target
from tenancy.spec.settings import PullPolicy

_PODS: Final = policy("pods")
_LIMITS: Final = Protection(Layer.LIMITS, "tenant-limits")
_LIMITS_OBJECT: Final = tenant_object(LIMIT_RANGE, "tenant-limits")


def _resources(**amounts: str) -> dict[str, object]:
    return {"resources": {"limits": amounts, "requests": amounts}}


def _other_registry(target: Target) -> Request:
    target.require_list("registries", target.settings.registries)
    return pod(target, {"image": f"{PROBE}.invalid/image"})


def _other_pull_policy(target: Target) -> Request:
    allowed = target.settings.image_pull_policies
    target.require_list("imagePullPolicies", allowed)
    others = [each for each in PullPolicy if each not in (allowed or ())]
    if not others:
        raise NotApplicable("imagePullPolicies of the tenant contains every policy")
    return pod(target, {"imagePullPolicy": others[0].value})


def _other_runtime_class(target: Target) -> Request:
    name = target.other_class(RUNTIME_CLASS, "runtimeClasses", target.settings.runtime_classes)
    return pod(target, runtimeClassName=name)


def _without_node_selector(target: Target) -> Request:
    labels = target.settings.forced_node_selector()
    if not labels:
        raise NotApplicable("the tenant has no node selector")
    return pod(target, nodeSelector=dict.fromkeys(labels, PROBE))


def _above_limit(target: Target) -> Request:
    limits = target.settings.limits.max
    if "cpu" not in limits:
        raise NotApplicable("limits.max of the tenant does not limit the CPU of a container")
    return pod(target, _resources(cpu=canonical_quantity(f"{quantity_value(limits['cpu']) + 1}")))


POD_CHECKS: Final = (
    Check(
        "pod-privileged",
        "A container is privileged",
        Level.BASIC,
        Role.ADMIN,
        (BASELINE,),
        lambda target: with_security(target, privileged=True, allowPrivilegeEscalation=True),
    ),
    Check(
        "pod-capabilities",
        "A container gets a capability of the kernel",
        Level.BASIC,
        Role.ADMIN,
        (BASELINE,),
        lambda target: with_security(target, capabilities={"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
    ),
    Check(
        "pod-root",
        "A container runs as root",
        Level.BASIC,
        Role.ADMIN,
        (RESTRICTED,),
        lambda target: with_security(target, runAsNonRoot=False, runAsUser=0),
    ),
    Check(
        "pod-escalation",
        "A process gets more privileges than its parent",
        Level.BASIC,
        Role.ADMIN,
        (RESTRICTED,),
        lambda target: with_security(target, allowPrivilegeEscalation=True),
    ),
    Check(
        "pod-seccomp",
        "A container runs without a seccomp profile",
        Level.BASIC,
        Role.ADMIN,
        (BASELINE,),
        lambda target: with_security(target, seccompProfile={"type": "Unconfined"}),
    ),
    Check(
        "pod-sysctl",
        "A pod sets an unsafe sysctl",
        Level.BASIC,
        Role.ADMIN,
        (BASELINE,),
        lambda target: pod(
            target,
            securityContext={
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
                "sysctls": [{"name": "kernel.msgmax", "value": "65536"}],
            },
        ),
    ),
    Check(
        "pod-host-network",
        "A pod uses the network of its node",
        Level.BASIC,
        Role.ADMIN,
        (BASELINE,),
        lambda target: pod(target, hostNetwork=True),
    ),
    Check(
        "pod-host-pid",
        "A pod sees the processes of its node",
        Level.BASIC,
        Role.ADMIN,
        (BASELINE,),
        lambda target: pod(target, hostPID=True),
    ),
    Check(
        "pod-host-ipc",
        "A pod uses the shared memory of its node",
        Level.BASIC,
        Role.ADMIN,
        (BASELINE,),
        lambda target: pod(target, hostIPC=True),
    ),
    Check(
        "pod-host-port",
        "A container takes a port of its node",
        Level.BASIC,
        Role.ADMIN,
        (BASELINE,),
        lambda target: pod(target, {"ports": [{"containerPort": 80, "hostPort": 80}]}),
    ),
    Check(
        "pod-host-path",
        "A pod mounts a folder of its node",
        Level.BASIC,
        Role.ADMIN,
        (BASELINE, _PODS),
        lambda target: pod(target, volumes=[{"name": "node", "hostPath": {"path": "/"}}]),
    ),
    Check(
        "pod-zero-limit",
        "A container turns its limits off",
        Level.HOSTILE,
        Role.ADMIN,
        (_PODS,),
        lambda target: pod(target, _resources(cpu="0")),
    ),
    Check(
        "pod-device",
        "A container takes a device that no quota counts",
        Level.HOSTILE,
        Role.ADMIN,
        (_PODS,),
        lambda target: pod(target, _resources(**{f"{PROBE}.invalid/device": "1"})),
    ),
    Check(
        "pod-registry",
        "An image comes from a registry that is not allowed",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_PODS,),
        _other_registry,
    ),
    Check(
        "pod-pull-policy",
        "A container uses a pull policy that is not allowed",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_PODS,),
        _other_pull_policy,
    ),
    Check(
        "pod-runtime-class",
        "A pod uses a runtime class that is not allowed",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_PODS,),
        _other_runtime_class,
    ),
    Check(
        "pod-node-selector",
        "A pod ignores the node selector of the tenant",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_PODS,),
        _without_node_selector,
    ),
    Check(
        "pod-limit",
        "A container gets more CPU than the plan allows",
        Level.BASIC,
        Role.ADMIN,
        (_LIMITS, _LIMITS_OBJECT),
        _above_limit,
    ),
)
