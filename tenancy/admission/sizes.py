"""Admission policies that limit how much data the users of a tenant can store in etcd.

ResourceQuotas limit the number of objects. These policies limit the size of each object.
"""

from typing import Final

from tenancy.admission.policy_builder import SYSTEM, TENANT_NAMESPACES, cel_string, check, policy, rule
from tenancy.base.manifest import Manifest
from tenancy.objects.object_sizes import (
    DATA_RESOURCES,
    DATA_SIZE,
    OBJECT_SIZE,
    TEMPLATE_RESOURCES,
    TEMPLATE_SIZE,
)

# CEL: whether the sender may update the resource of the request in all namespaces. For example, controllers
# of other projects have this right.
_HOLDS_EVERYWHERE: Final = (
    "authorizer.group(request.resource.group).resource(request.resource.resource).check('update').allowed()"
)


def size_policies(is_platform: str) -> list[Manifest]:
    """The policies for the size of objects and for Events.

    `is_platform` is a CEL expression. It is true if the sender may change managed objects.
    """
    conditions = {
        "others": f"!{SYSTEM}",
        "not-the-platform": f"!{is_platform}",
        "not-a-controller": f"!{_HOLDS_EVERYWHERE}",
    }
    return [*_object_sizes(conditions), *_events(conditions)]


def _object_sizes(conditions: dict[str, str]) -> list[Manifest]:
    """The policy for the size of objects. It also applies to the status of objects.

    The policy does not check objects that controllers write. Controllers copy pod templates and annotations
    from the objects of users, so the objects of controllers are only slightly larger than those of users.
    """
    limits = {TEMPLATE_SIZE: TEMPLATE_RESOURCES, DATA_SIZE: DATA_RESOURCES}
    choices = "".join(
        f"request.resource.resource in {[name.partition('.')[0] for name in resources]} ? {size} : "
        for size, resources in limits.items()
    )
    return policy(
        "tenancy-object-sizes",
        [{**rule("*", "*/*", version="*"), "scope": "Namespaced"}],
        [
            check(
                "variables.size <= variables.limit",
                "'the object has about ' + string(variables.size) + ' bytes, but the limit for ' + "
                "request.resource.resource + ' of a tenant is ' + string(variables.limit) + "
                "' bytes; make the object smaller'",
            )
        ],
        variables={
            "limit": f"{choices}{OBJECT_SIZE}",
            "size": "bytes('%s'.format([object])).size()",
        },
        conditions=conditions,
        namespaces=TENANT_NAMESPACES,
    )


def _events(conditions: dict[str, str]) -> list[Manifest]:
    """The policy for Events. It allows only components of the cluster to write Events.

    A tenant's users can't write Events, because no quota can limit the number of Events.
    """
    return policy(
        "tenancy-events",
        [rule("", "events"), rule("events.k8s.io", "events")],
        [check("false", cel_string("only components of the cluster write Events"), "Forbidden")],
        conditions=conditions,
        namespaces=TENANT_NAMESPACES,
    )
