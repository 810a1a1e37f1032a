"""Checks that RBAC gives a tenant's users no access outside the tenant, and only the rights of their role."""

from typing import Any, Final

from tenancy.base.kinds import (
    CONFIG_MAP,
    CRD,
    NAMESPACE,
    NETWORK_POLICY,
    POD,
    POLICY_BINDING,
    RBAC_GROUP,
    TENANTS,
    Kind,
)
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.isolation.check import PROBE, RBAC, Check, Level, Request, Role, policy
from tenancy.isolation.requests import SECRET, create
from tenancy.isolation.target import Target

_NODE: Final = Kind("v1", "Node", "nodes", False)
_VOLUME: Final = Kind("v1", "PersistentVolume", "persistentvolumes", False)
_SIGNING: Final = Kind(
    "certificates.k8s.io/v1", "CertificateSigningRequest", "certificatesigningrequests", False
)
_WEBHOOK: Final = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    False,
)
_CLUSTER_ROLE_BINDING: Final = Kind(f"{RBAC_GROUP}/v1", "ClusterRoleBinding", "clusterrolebindings", False)
_API_SERVICE: Final = Kind("apiregistration.k8s.io/v1", "APIService", "apiservices", False)


def _cluster_role_binding(target: Target) -> Request:
    return create(
        target,
        _CLUSTER_ROLE_BINDING,
        roleRef={"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
        subjects=[{"kind": "User", "name": PROBE, "apiGroup": RBAC_GROUP}],
    )


def _volume(target: Target) -> Request:
    spec = {
        "capacity": {"storage": "1Mi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/"},
    }
    return create(target, _VOLUME, spec=spec)


def _signing_request(target: Target) -> Request:
    spec = {"request": "", "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    return create(target, _SIGNING, spec=spec)


def _crd(target: Target) -> Request:
    return create(target, CRD, f"{PROBE}s.{PROBE}.invalid", spec={})


def _own_tenant(target: Target, change: dict[str, Any], subresource: str = "") -> Request:
    kind = next(kind for kind in TENANTS if kind.api_version == target.manifest["apiVersion"])
    return Request("patch", kind, target.name, subresource=subresource, body=change)


ACCESS_CHECKS: Final = (
    Check(
        "foreign-pods",
        "An admin lists the pods of another tenant",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda target: Request("list", POD, namespace=target.foreign_namespace),
    ),
    Check(
        "foreign-secrets",
        "An admin reads Secrets of the platform",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda _: Request("get", SECRET, PROBE, SYSTEM_NAMESPACE),
    ),
    Check(
        "foreign-exec",
        "An admin runs commands in pods of another tenant",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda target: Request("connect", POD, PROBE, target.foreign_namespace, "exec"),
    ),
    Check(
        "outsider-read",
        "A user without a role reads the tenant's objects",
        Level.BASIC,
        Role.OUTSIDER,
        (RBAC,),
        lambda target: Request("list", CONFIG_MAP, namespace=target.namespace),
    ),
    Check(
        "viewer-secrets",
        "A viewer reads Secrets",
        Level.BASIC,
        Role.VIEWER,
        (RBAC,),
        lambda target: Request("get", SECRET, PROBE, target.namespace),
    ),
    Check(
        "viewer-write",
        "A viewer writes an object",
        Level.BASIC,
        Role.VIEWER,
        (RBAC,),
        lambda target: create(target, CONFIG_MAP),
    ),
    Check(
        "viewer-exec",
        "A viewer runs a command in a pod",
        Level.BASIC,
        Role.VIEWER,
        (RBAC,),
        lambda target: Request("connect", POD, PROBE, target.namespace, "exec"),
    ),
    Check(
        "operator-network",
        "An operator allows traffic",
        Level.BASIC,
        Role.OPERATOR,
        (RBAC,),
        lambda target: create(target, NETWORK_POLICY, spec={"podSelector": {}}),
    ),
    Check(
        "cluster-nodes",
        "An admin lists the nodes",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda _: Request("list", _NODE),
    ),
    Check(
        "node-proxy",
        "An admin sends requests to a kubelet",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda _: Request("get", _NODE, PROBE, subresource="proxy"),
    ),
    Check(
        "cluster-namespaces",
        "An admin lists the namespaces of all tenants",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda _: Request("list", NAMESPACE),
    ),
    Check(
        "cluster-volumes", "An admin creates a volume on a node", Level.BASIC, Role.ADMIN, (RBAC,), _volume
    ),
    Check(
        "cluster-rights",
        "An admin grants rights in the whole cluster",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        _cluster_role_binding,
    ),
    Check(
        "cluster-certificates",
        "An admin requests a certificate of another user",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        _signing_request,
    ),
    Check("cluster-crds", "An admin adds a kind to the API", Level.BASIC, Role.ADMIN, (RBAC,), _crd),
    Check(
        "cluster-api",
        "An admin replaces a part of the API",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda target: create(target, _API_SERVICE, f"v1.{PROBE}.invalid", spec={}),
    ),
    Check(
        "cluster-webhooks",
        "An admin reads all requests with a webhook",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda target: create(target, _WEBHOOK, webhooks=[]),
    ),
    Check(
        "platform-policies",
        "An admin turns an admission policy off",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda _: Request("delete", POLICY_BINDING, "tenancy-pods"),
    ),
    Check(
        "platform-plans",
        "An admin changes the plans",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda _: Request("patch", CONFIG_MAP, PLANS_CONFIG_MAP, SYSTEM_NAMESPACE, body={"data": {}}),
    ),
    Check(
        "tenant-spec",
        "An admin changes the Tenant",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda target: _own_tenant(target, {"spec": {"plan": "enterprise"}}),
    ),
    Check(
        "tenant-status",
        "An admin changes the status of the Tenant",
        Level.HOSTILE,
        Role.ADMIN,
        (RBAC, policy("status")),
        lambda target: _own_tenant(target, {"status": {"phase": "Active"}}, "status"),
    ),
    Check(
        "impersonation",
        "An admin impersonates another user",
        Level.BASIC,
        Role.ADMIN,
        (RBAC,),
        lambda _: Request("impersonate", Kind("v1", "User", "users", False), PROBE),
    ),
)
