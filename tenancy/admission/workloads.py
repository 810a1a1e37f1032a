"""Admission policies for pods, PodDisruptionBudgets and PersistentVolumeClaims.

The policies check all pods, including pods that a controller creates. They do not check the pod templates of
Deployments and Jobs.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    ANNOTATIONS,
    SPEC_IS_NEW,
    SYSTEM,
    SYSTEM_CLASSES,
    TENANT_NAMESPACES,
    allowed_suffix,
    annotation_items,
    cel_string,
    check,
    list_check,
    policy,
    rule,
)
from tenancy.base.kinds import DISRUPTION_BUDGET
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import (
    EXTENDED_RESOURCES,
    NODE_SELECTOR,
    PULL_POLICIES,
    REGISTRIES,
    RUNTIME_CLASSES,
    STORAGE_CLASSES,
)

_QUOTA_RESOURCES: Final = ["cpu", "memory", "ephemeral-storage"]
# CEL: the fully qualified name of image `i`, as container runtimes resolve it. The first path segment is a
# registry host only if it is `localhost` or contains a dot, a colon or a capital letter.
_FULL_NAME: Final = (
    "!i.contains('/') ? 'docker.io/library/' + i : "
    r"i.matches('^docker\\.io/[^/]+$') ? 'docker.io/library/' + i.substring(10) : "
    "i.matches('^([^/]*[.:A-Z][^/]*|localhost)/') ? i : 'docker.io/' + i"
)
# CEL: whether entry `e` of the registry list allows image `i`. An entry is a registry host, optionally with a
# path. If the entry has a path, a tag or digest may follow it. If it has no path, a colon after it would
# start a port.
_IS_FROM_ENTRY: Final = (
    "i == e || i.startsWith(e + '/') || e.contains('/') && (i.startsWith(e + ':') || i.startsWith(e + '@'))"
)


def workload_policies() -> list[Manifest]:
    return [*_pods(), *_disruption_budgets(), *_claims()]


def _pods() -> list[Manifest]:
    return policy(
        "tenancy-pods",
        [rule("", "pods", "pods/ephemeralcontainers")],
        [
            check(
                "object.spec.?volumes.orValue([]).all(v, !has(v.hostPath))",
                cel_string(
                    "spec.volumes: hostPath is not allowed in a tenant's namespace; use a "
                    "PersistentVolumeClaim or emptyDir"
                ),
            ),
            check(
                "variables.limits.all(l, l.all(r, !(r in ['cpu', 'memory']) || "
                "quantity(l[r]).isGreaterThan(quantity('0'))))",
                cel_string(
                    "spec.containers[].resources.limits: 0 means no limit; set an amount, or remove the "
                    "limit to get the default"
                ),
            ),
            check(
                "variables.strange_resources.size() == 0",
                "'spec.containers[].resources: ' + variables.strange_resources.join(', ') + ' is not "
                f"allowed, because no quota of this tenant limits it' + {allowed_suffix(EXTENDED_RESOURCES)}",
            ),
            *_image_checks(),
            *_class_checks(),
            *_node_checks(),
        ],
        variables={
            **ANNOTATIONS,
            # LimitRanges and quotas accept a limit of 0. But for the nodes, 0 means that there is no limit.
            "limits": " + ".join(
                f"object.spec.?{name}.orValue([]).map(c, c.?resources.?limits.orValue({{}}))"
                for name in ("containers", "initContainers")
            ),
            "resources": " + ".join(
                f"object.spec.?{name}.orValue([]).map(c, c.?resources.?{part}.orValue({{}}))"
                for name in ("containers", "initContainers")
                for part in ("requests", "limits")
            ),
            "extended_resources": annotation_items(EXTENDED_RESOURCES),
            "strange_resources": "variables.resources.map(a, a.map(r, r)).flatten().filter(r, "
            f"!(r in {_QUOTA_RESOURCES}) && !(r in variables.extended_resources))",
            "images": _image_field("image", "reference"),
            "pull_policies": _image_field("imagePullPolicy", "pullPolicy"),
            "registries": annotation_items(REGISTRIES),
            "strange_images": f"variables.images.map(i, {_FULL_NAME})"
            f".filter(i, !variables.registries.exists(e, {_IS_FROM_ENTRY}))",
            "strange_pull_policies": "variables.pull_policies"
            f".filter(p, !(p in variables.annotations[?'{PULL_POLICIES}'].orValue('').split(',')))",
            "priority_class": "object.spec.?priorityClassName.orValue('')",
            "runtime_class": "object.spec.?runtimeClassName.orValue('')",
            "selector": "object.spec.?nodeSelector.orValue({})",
            "forced_nodes": annotation_items(NODE_SELECTOR),
        },
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )


def _image_checks() -> list[Manifest]:
    return [
        check(
            f"!('{REGISTRIES}' in variables.annotations) || variables.strange_images.size() == 0",
            "'spec.containers[].image: ' + variables.strange_images.join(', ') + "
            f"' is not from a registry that this tenant may use' + {allowed_suffix(REGISTRIES)}",
        ),
        check(
            f"!('{PULL_POLICIES}' in variables.annotations) || variables.strange_pull_policies.size() == 0",
            "'spec.containers[].imagePullPolicy: ' + variables.strange_pull_policies.join(', ') + "
            f"' is not allowed for this tenant' + {allowed_suffix(PULL_POLICIES)}",
        ),
    ]


def _class_checks() -> list[Manifest]:
    runtime = list_check("spec.runtimeClassName", "variables.runtime_class", RUNTIME_CLASSES)
    # The list of runtime classes can contain the empty string, which allows pods without a runtime class. If
    # the list contains only the empty string, the annotation is empty. `is_listed` rejects every value if the
    # annotation is empty. So this additional expression allows pods without a runtime class.
    is_allowed_without_class = (
        f"variables.runtime_class == '' && variables.annotations[?'{RUNTIME_CLASSES}'].orValue('') == ''"
    )
    return [
        check(
            f"!(variables.priority_class in {list(SYSTEM_CLASSES)})",
            "'spec.priorityClassName: ' + variables.priority_class + "
            "' is reserved for the cluster and never allowed for a tenant; use another priority class'",
        ),
        {**runtime, "expression": f"{is_allowed_without_class} || {runtime['expression']}"},
    ]


def _node_checks() -> list[Manifest]:
    key, value = "p.split('=')[0]", "p.split('=')[1]"
    return [
        check(
            f"variables.forced_nodes.all(p, variables.selector[?{key}] == optional.of({value}))",
            "'spec.nodeSelector: must contain ' + variables.forced_nodes.join(', ')",
        ),
    ]


def _disruption_budgets() -> list[Manifest]:
    """The policy for PodDisruptionBudgets. It rejects `maxUnavailable: 0` and `minAvailable: 100%`.

    Such a budget blocks every drain of a node on which its pods run.
    """
    unavailable, available = "object.spec.?maxUnavailable", "object.spec.?minAvailable"
    return policy(
        "tenancy-disruption-budgets",
        [rule(DISRUPTION_BUDGET.group, DISRUPTION_BUDGET.plural)],
        [
            check(
                f"!{unavailable}.hasValue() || !string({unavailable}.value()).matches('^0+%?$')",
                cel_string("spec.maxUnavailable: 0 would block the drain of nodes; set at least 1"),
            ),
            check(
                f"!{available}.hasValue() || !string({available}.value()).matches('^0*100%$')",
                cel_string("spec.minAvailable: 100% would block the drain of nodes; set a lower value"),
            ),
        ],
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )


def _claims() -> list[Manifest]:
    storage_class = "spec.?storageClassName.orValue('')"
    is_new = "request.operation == 'CREATE' || "
    return [
        *policy(
            "tenancy-volumes",
            [rule("", "persistentvolumeclaims")],
            [
                check(
                    "object.spec.?volumeName.orValue('') == '' && !has(object.spec.selector)",
                    cel_string(
                        "spec.volumeName, spec.selector: not allowed, because they can bind a volume of "
                        "another tenant; ask the platform to set claimRef in the PersistentVolume"
                    ),
                    "Forbidden",
                )
            ],
            # Controllers create claims from users' templates, so the policy checks claims of controllers too.
            # It does not check updates by controllers, because a controller sets the volume of a claim.
            conditions={
                "is-new": f"{is_new}!{SYSTEM} && object.spec.?volumeName != oldObject.spec.?volumeName"
            },
            namespaces=TENANT_NAMESPACES,
        ),
        *policy(
            "tenancy-claims",
            [rule("", "persistentvolumeclaims")],
            [list_check("spec.storageClassName", "variables.class", STORAGE_CLASSES)],
            variables={**ANNOTATIONS, "class": f"object.{storage_class}"},
            # Updates that do not change the storage class are not checked, so existing claims can still be
            # bound and resized.
            conditions={"class-is-new": f"{is_new}object.{storage_class} != oldObject.{storage_class}"},
            namespaces=TENANT_NAMESPACES,
        ),
    ]


def _image_field(container_field: str, volume_field: str) -> str:
    """A CEL expression that returns a list with one value for each container and each image volume of a pod.

    The value of a container is its field `container_field`. The value of an image volume is its field
    `volume_field`.
    """
    containers = [
        f"object.spec.?{name}.orValue([]).map(c, c.?{container_field}.orValue(''))"
        for name in ("containers", "initContainers", "ephemeralContainers")
    ]
    volumes = (
        "object.spec.?volumes.orValue([]).filter(v, has(v.image))"
        f".map(v, v.image.?{volume_field}.orValue(''))"
    )
    return " + ".join([*containers, volumes])
