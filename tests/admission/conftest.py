"""One tenant with every list a tenant can have, its people, and a neighbour. All tests here share them."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from cluster.client import ClusterError
from tenancy.base.kinds import CONFIG_MAP, CRD, RBAC_GROUP, ROLE, ROLE_BINDING, SERVICE_ACCOUNT, Kind
from tests.admission.people import (
    CLAIM,
    GATEWAY,
    HTTP_ROUTE,
    NAMESPACE,
    Attempt,
    Person,
    claim_spec,
    create,
    denied_by,
)
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

People = Callable[..., Person]

ACME = tenant_manifest(
    "acme",
    plan="pro",
    adminUsers=["alice"],
    access=[
        {"kind": "User", "name": "oscar", "role": "operator"},
        {"kind": "User", "name": "vera", "role": "viewer"},
    ],
    # Pod Security would refuse some attempts before our own policies see them.
    podSecurity="privileged",
    registries=["registry.example", "docker.io/acme", "harbor.example/team"],
    imagePullPolicies=["Always"],
    storageClasses=["fast"],
    ingressClasses=["public"],
    gatewayClasses=["public"],
    priorityClasses=["low"],
    runtimeClasses=["", "sandbox"],
    hostnames=["*.acme.example", "acme.test"],
    nodeSelector={"pool": "tenants"},
    network={"egress": [{"cidr": "203.0.113.0/24"}, {"cidr": "198.51.100.0/24", "ports": [{"port": 443}]}]},
)
# Has no list but an empty one.
RIVAL = tenant_manifest("rival", adminUsers=["mallory"], podSecurity="privileged", storageClasses=[])

# More than a tenant's admin gets, to show that admission stands behind RBAC as a wall of its own.
MORE_RULES = [
    {"apiGroups": [group], "resources": resources, "verbs": ["create", "update", "patch", "delete"]}
    for group, resources in {
        "": ["pods/ephemeralcontainers", "resourcequotas"],
        "discovery.k8s.io": ["endpointslices"],
        "gateway.networking.k8s.io": ["gateways", "httproutes"],
    }.items()
]
PRIORITY_CLASS = Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", False)
RUNTIME_CLASS = Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", False)
CLUSTER_ROLE_BINDING = Kind(f"{RBAC_GROUP}/v1", "ClusterRoleBinding", "clusterrolebindings", False)


@pytest.fixture(scope="session")
def administrator(running_platform: Platform) -> Iterator[Person]:
    """Has made what a cluster has beside tenants: classes, the Gateway API, and carol, who may do all."""
    admin = Person.named(running_platform.admin_kubeconfig, "root", "system:masters")
    made = [
        *(create(PRIORITY_CLASS, name, value=10) for name in ("low", "high")),
        *(create(RUNTIME_CLASS, name, handler=name) for name in ("sandbox", "raw")),
        *(_crd(kind) for kind in (GATEWAY, HTTP_ROUTE)),
        create(
            CLUSTER_ROLE_BINDING,
            "carol",
            roleRef={"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
            subjects=[{"apiGroup": RBAC_GROUP, "kind": "User", "name": "carol"}],
        ),
    ]
    for attempt in made:
        admin.do(attempt)
    yield admin
    for attempt in made:
        admin.do(attempt.undone)


@pytest.fixture(scope="session")
def people(running_platform: Platform, administrator: Person) -> Iterator[People]:
    """Anybody by name and group, in a cluster with both tenants and all policies in force."""

    def person(user: str, group: str = "") -> Person:
        return Person.named(running_platform.admin_kubeconfig, user, group)

    running_platform.ensure_started()
    for manifest in (ACME, RIVAL):
        running_platform.apply(manifest)
    for manifest in (ACME, RIVAL):
        running_platform.await_active(manifest)
    _grant_more(administrator)
    # What Kubernetes itself puts into each namespace: pods need it, and tests try to change it.
    for namespace in (NAMESPACE, "tenant-rival"):
        for kind, name in ((SERVICE_ACCOUNT, "default"), (CONFIG_MAP, "kube-root-ca.crt")):
            eventually(partial(administrator.get, kind, name, namespace), f"{namespace} has {name}")
    for kind in (GATEWAY, HTTP_ROUTE):
        reaches = partial(_reaches_admission, person("alice"), kind)
        eventually(reaches, f"{kind.plural} are served, and alice may write them")
    # The policy made last: where it holds, the API server has read all before it.
    last = create(CLAIM, "probe", spec=claim_spec(storageClassName="slow"))
    eventually(lambda: denied_by("claims") in person("alice").refusal(last), "the policies are in force")
    yield person
    running_platform.end((ACME, RIVAL))


@pytest.fixture
def alice(people: People) -> Person:
    """The tenant's admin."""
    return people("alice")


@pytest.fixture
def mallory(people: People) -> Person:
    """The admin of another tenant."""
    return people("mallory")


@pytest.fixture
def carol(people: People) -> Person:
    """Cluster-admin by RBAC, but none of the platform's operators."""
    return people("carol")


def _grant_more(administrator: Person) -> None:
    role_ref = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": "more"}
    subjects = [{"apiGroup": RBAC_GROUP, "kind": "User", "name": "alice"}]
    administrator.do(create(ROLE, "more", rules=MORE_RULES))
    administrator.do(create(ROLE_BINDING, "more", roleRef=role_ref, subjects=subjects))


def _reaches_admission(person: Person, kind: Kind) -> bool:
    """Whether the kind is served, and no right is missing: what is refused then, admission refuses."""
    try:
        return "cannot create resource" not in person.refusal(create(kind, "probe", spec={}))
    except ClusterError:
        return False


def _crd(kind: Kind) -> Attempt:
    """The CRD of this kind, with all fields left open."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind.kind, "plural": kind.plural}
    spec = {"group": kind.group, "names": names, "scope": "Namespaced", "versions": [version]}
    approval = {"api-approved.kubernetes.io": "unapproved, for tests"}
    return create(CRD, kind.crd, annotations=approval, spec=spec)
