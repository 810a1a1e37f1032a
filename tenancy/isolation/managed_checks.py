"""Checks that only the platform changes the objects and the labels that isolate a tenant."""

from typing import Final

from tenancy.base.kinds import (
    CONFIG_MAP,
    LIMIT_RANGE,
    NAMESPACE,
    NETWORK_POLICY,
    RESOURCE_QUOTA,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    Kind,
)
from tenancy.base.labels import MANAGED_LABEL, TENANT_LABEL
from tenancy.base.manifest import Manifest
from tenancy.isolation.check import (
    NAMESPACES,
    PROBE,
    RBAC,
    Check,
    Level,
    NotApplicable,
    Protection,
    Request,
    Role,
    policy,
    tenant_object,
)
from tenancy.isolation.requests import create, delete, patch
from tenancy.isolation.target import Target
from tenancy.objects.policy_annotations import REGISTRIES
from tenancy.objects.roles import role_name
from tenancy.spec.access import AccessRole

_OBJECTS: Final = policy("managed-objects")
_NAMESPACES: Final = policy("managed-namespaces")
_CORDONED: Final = policy("cordoned")


def _namespace(target: Target, metadata: Manifest) -> Request:
    return patch(target, NAMESPACE, target.namespace, {"metadata": metadata})


def _require_cordon(target: Target) -> None:
    if not target.tenant.spec.cordoned:
        raise NotApplicable("the tenant is not cordoned")


def _write_to_cordoned(target: Target) -> Request:
    _require_cordon(target)
    return create(target, CONFIG_MAP)


def _connect_to_cordoned(target: Target) -> Request:
    _require_cordon(target)
    return Request("connect", SERVICE, PROBE, target.namespace, "proxy")


def _limit_of_watcher(name: str, title: str) -> Check:
    """A check that the policy `tenancy-watcher-NAME`, which limits the watcher, is unchanged."""
    return Check(f"watcher-{name}", title, Level.HOSTILE, Role.WATCHER, (policy(f"watcher-{name}"),))


def _objects_of_roles(kind: Kind) -> tuple[Protection, ...]:
    """The policy for managed objects, and the Roles or RoleBindings (`kind`) of all three roles."""
    return (_OBJECTS, *(tenant_object(kind, role_name(role)) for role in AccessRole))


MANAGED_CHECKS: Final = (
    Check(
        "namespace-desired",
        "Somebody has changed the labels or the allow lists of a namespace",
        Level.BASIC,
        Role.OUTSIDER,
        (NAMESPACES,),
    ),
    Check(
        "managed-role",
        "An admin changes the rights of the tenant's admins",
        Level.BASIC,
        Role.ADMIN,
        _objects_of_roles(ROLE),
        lambda target: patch(target, ROLE, "tenant-admin", {"rules": []}),
    ),
    Check(
        "managed-role-binding",
        "An admin gives the role admin to other users",
        Level.BASIC,
        Role.ADMIN,
        _objects_of_roles(ROLE_BINDING),
        lambda target: patch(target, ROLE_BINDING, "tenant-admin", {"subjects": []}),
    ),
    Check(
        "managed-network-policy",
        "An admin deletes the isolation of the network",
        Level.BASIC,
        Role.ADMIN,
        (_OBJECTS,),
        lambda target: delete(target, NETWORK_POLICY, "default-deny-all"),
    ),
    Check(
        "managed-quota",
        "An admin raises the quota",
        Level.BASIC,
        Role.ADMIN,
        (RBAC, _OBJECTS),
        lambda target: patch(target, RESOURCE_QUOTA, "tenant-quota", {"spec": {"hard": {"pods": "99999"}}}),
    ),
    Check(
        "managed-limits",
        "An admin deletes the limits of containers",
        Level.BASIC,
        Role.ADMIN,
        (_OBJECTS,),
        lambda target: delete(target, LIMIT_RANGE, "tenant-limits"),
    ),
    Check(
        "managed-label",
        "A user labels an object as managed by the platform",
        Level.SELF_SERVICE,
        Role.OPERATOR,
        (_OBJECTS,),
        lambda target: create(target, CONFIG_MAP, labels={MANAGED_LABEL: "true"}),
    ),
    Check(
        "tenant-label",
        "A user labels an object as an object of another tenant",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_OBJECTS,),
        lambda target: create(target, CONFIG_MAP, labels={TENANT_LABEL: PROBE}),
    ),
    Check(
        "namespace-pod-security",
        "An admin lowers the Pod Security level",
        Level.BASIC,
        Role.ADMIN,
        (RBAC, _NAMESPACES),
        lambda target: _namespace(target, {"labels": {"pod-security.kubernetes.io/enforce": None}}),
    ),
    Check(
        "namespace-tenant",
        "An admin gives the namespace to another tenant",
        Level.BASIC,
        Role.ADMIN,
        (RBAC, _NAMESPACES),
        lambda target: _namespace(target, {"labels": {TENANT_LABEL: PROBE}}),
    ),
    Check(
        "namespace-allow-list",
        "An admin extends an allow list",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (RBAC, _NAMESPACES),
        lambda target: _namespace(target, {"annotations": {REGISTRIES: PROBE}}),
    ),
    Check(
        "namespace-owner",
        "An admin gives the namespace an owner that Kubernetes deletes",
        Level.HOSTILE,
        Role.ADMIN,
        (RBAC, _NAMESPACES),
        lambda target: _namespace(
            target, {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": PROBE, "uid": PROBE}]}
        ),
    ),
    Check(
        "namespace-delete",
        "An admin deletes a namespace of the tenant",
        Level.BASIC,
        Role.ADMIN,
        (RBAC, _NAMESPACES),
        lambda target: delete(target, NAMESPACE, target.namespace),
    ),
    Check(
        "namespace-forge",
        "A user creates a namespace of the tenant",
        Level.BASIC,
        Role.OUTSIDER,
        (RBAC, _NAMESPACES),
        lambda target: create(target, NAMESPACE, labels={MANAGED_LABEL: "true", TENANT_LABEL: target.name}),
    ),
    Check(
        "cordon-write",
        "A user of a cordoned tenant writes an object",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_CORDONED,),
        _write_to_cordoned,
    ),
    Check(
        "cordon-connect",
        "A user of a cordoned tenant connects to a Service",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_CORDONED,),
        _connect_to_cordoned,
    ),
    _limit_of_watcher("namespaces", "The watcher marks a foreign namespace as a tenant's"),
    _limit_of_watcher("objects", "The watcher writes objects outside the tenants' namespaces"),
    _limit_of_watcher("jobs", "A Job of the watcher reads Secrets"),
    _limit_of_watcher("tenants", "The watcher changes the specs of Tenants"),
)
