"""What a tenant's pods and volume claims may ask for, whoever makes them.

Part of `admission`. Templates in Deployments and Jobs are not read: their pods are.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    ANNOTATIONS,
    KUBERNETES,
    SPEC_IS_NEW,
    TENANT_NAMESPACES,
    check,
    items_of,
    list_check,
    policy,
    rule,
    sender_is,
    text,
    told_list,
)
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import (
    NODE_SELECTOR,
    PRIORITY_CLASSES,
    PULL_POLICIES,
    REGISTRIES,
    RUNTIME_CLASSES,
    STORAGE_CLASSES,
)

_SYSTEM_CLASSES: Final = ["system-cluster-critical", "system-node-critical"]
# An image's full name, as container runtimes read it: a first part with none of these marks is no host.
_FULL_NAME: Final = (
    "!i.contains('/') ? 'docker.io/library/' + i : "
    r"i.matches('^docker\\.io/[^/]+$') ? 'docker.io/library/' + i.substring(10) : "
    "i.matches('^([^/]*[.:A-Z][^/]*|localhost)/') ? i : 'docker.io/' + i"
)
# Only at the end of a part; behind a host alone a colon would be another port.
_IS_FROM_ENTRY: Final = (
    "i == e || i.startsWith(e + '/') || e.contains('/') && (i.startsWith(e + ':') || i.startsWith(e + '@'))"
)


def workload_policies() -> list[Manifest]:
    return [*_pods(), *_pod_addresses(), *_claims()]


def _pods() -> list[Manifest]:
    return policy(
        "tenancy-pods",
        [rule("", "pods", "pods/ephemeralcontainers")],
        [
            check(
                "object.spec.?volumes.orValue([]).all(v, !has(v.hostPath))",
                text(
                    "spec.volumes: hostPath is not allowed in a tenant's namespace; use a claim or emptyDir"
                ),
            ),
            check(
                "variables.limits.all(l, l.all(r, !(r in ['cpu', 'memory']) || "
                "quantity(l[r]).isGreaterThan(quantity('0'))))",
                text(
                    "spec.containers[].resources.limits: 0 stands for no limit at all; name an amount, or "
                    "leave it out for the default"
                ),
            ),
            *_image_checks(),
            *_class_checks(),
            *_node_checks(),
        ],
        variables={
            **ANNOTATIONS,
            # A LimitRange takes a 0 for little, a quota takes nothing for it, and nodes take it for no limit.
            "limits": " + ".join(
                f"object.spec.?{name}.orValue([]).map(c, c.?resources.?limits.orValue({{}}))"
                for name in ("containers", "initContainers")
            ),
            "images": _each_image("image", "reference"),
            "pull_policies": _each_image("imagePullPolicy", "pullPolicy"),
            "registries": items_of(REGISTRIES),
            "strange_images": f"variables.images.map(i, {_FULL_NAME})"
            f".filter(i, !variables.registries.exists(e, {_IS_FROM_ENTRY}))",
            "strange_pull_policies": "variables.pull_policies"
            f".filter(p, !(p in variables.annotations[?'{PULL_POLICIES}'].orValue('').split(',')))",
            "priority_class": "object.spec.?priorityClassName.orValue('')",
            "runtime_class": "object.spec.?runtimeClassName.orValue('')",
            "selector": "object.spec.?nodeSelector.orValue({})",
            "forced_nodes": items_of(NODE_SELECTOR),
        },
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )


def _image_checks() -> list[Manifest]:
    return [
        check(
            f"!('{REGISTRIES}' in variables.annotations) || variables.strange_images.size() == 0",
            "'spec.containers[].image: ' + variables.strange_images.join(', ') + "
            f"' comes from no registry this tenant may use' + {told_list(REGISTRIES)}",
        ),
        check(
            f"!('{PULL_POLICIES}' in variables.annotations) || variables.strange_pull_policies.size() == 0",
            "'spec.containers[].imagePullPolicy: ' + variables.strange_pull_policies.join(', ') + "
            f"' is not allowed for this tenant' + {told_list(PULL_POLICIES)}",
        ),
    ]


def _class_checks() -> list[Manifest]:
    named = list_check("spec.priorityClassName", "variables.priority_class", PRIORITY_CLASSES)
    runtime = list_check("spec.runtimeClassName", "variables.runtime_class", RUNTIME_CLASSES)
    # In this list alone, nothing named is a choice like others; a list of only that is an empty text.
    nothing_named = (
        f"variables.runtime_class == '' && variables.annotations[?'{RUNTIME_CLASSES}'].orValue('') == ''"
    )
    return [
        check(
            f"!(variables.priority_class in {_SYSTEM_CLASSES})",
            "'spec.priorityClassName: ' + variables.priority_class + "
            "' is for the cluster itself, never for a tenant'",
        ),
        {**named, "expression": f"variables.priority_class == '' || {named['expression']}"},
        {**runtime, "expression": f"{nothing_named} || {runtime['expression']}"},
    ]


def _node_checks() -> list[Manifest]:
    key, value = "p.split('=')[0]", "p.split('=')[1]"
    return [
        check(
            f"variables.forced_nodes.all(p, variables.selector[?{key}] == optional.of({value}))",
            "'spec.nodeSelector: must hold ' + variables.forced_nodes.join(', ')",
        ),
        check(
            "request.operation != 'CREATE' || variables.forced_nodes.size() == 0 || "
            "object.spec.?nodeName.orValue('') == ''",
            "'spec.nodeName: must be left to the scheduler, since this tenant runs on nodes with ' + "
            "variables.forced_nodes.join(', ')",
        ),
    ]


def _pod_addresses() -> list[Manifest]:
    """Services send to the addresses in pods' status: a forged one leads around the tenant's walls."""
    kubernetes = sender_is(
        KUBERNETES, ["system:nodes", "system:masters", "system:serviceaccounts:kube-system"]
    )
    return policy(
        "tenancy-pod-addresses",
        [rule("", "pods/status", operations=["UPDATE"])],
        [
            check(
                "object.status.?podIP == oldObject.status.?podIP && "
                "object.status.?podIPs == oldObject.status.?podIPs",
                text("status.podIPs: only the pod's node sets its addresses"),
                "Forbidden",
            )
        ],
        conditions={"others": f"!{kubernetes}"},
        namespaces=TENANT_NAMESPACES,
    )


def _claims() -> list[Manifest]:
    chosen = "spec.?storageClassName.orValue('')"
    return policy(
        "tenancy-claims",
        [rule("", "persistentvolumeclaims")],
        [list_check("spec.storageClassName", "variables.class", STORAGE_CLASSES)],
        variables={**ANNOTATIONS, "class": f"object.{chosen}"},
        # A claim that was allowed once is still bound and resized.
        conditions={
            "class-is-new": f"request.operation == 'CREATE' || object.{chosen} != oldObject.{chosen}"
        },
        namespaces=TENANT_NAMESPACES,
    )


def _each_image(of_container: str, of_volume: str) -> str:
    """One field of everything in a pod that names an image."""
    lists = [
        f"object.spec.?{name}.orValue([]).map(c, c.?{of_container}.orValue(''))"
        for name in ("containers", "initContainers", "ephemeralContainers")
    ]
    volumes = (
        f"object.spec.?volumes.orValue([]).filter(v, has(v.image)).map(v, v.image.?{of_volume}.orValue(''))"
    )
    return " + ".join([*lists, volumes])
