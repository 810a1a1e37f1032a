"""Fixtures for the tests of admission policies: two tenants and their users.

Tenant `acme` sets every allow list. The allow lists of tenant `rival` are empty or not set.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from cluster.errors import ClusterError
from tenancy.base.kinds import CONFIG_MAP, CRD, RBAC_GROUP, ROLE, ROLE_BINDING, SERVICE_ACCOUNT, Kind
from tests.admission.people import (
    CLAIM,
    NAMESPACE,
    ROUTE_KINDS,
    Attempt,
    Person,
    claim_spec,
    create,
    denied_by,
)
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

People = Callable[..., Person]

# The right to request tokens. Without it, RBAC rejects a request for a token before the policies do.
TOKENS = [{"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]}]

ACME = tenant_manifest(
    "acme",
    plan="pro",
    adminUsers=["alice"],
    access=[
        {"kind": "User", "name": "oscar", "role": "operator"},
        {"kind": "User", "name": "vera", "role": "viewer"},
    ],
    roles={"admin": TOKENS, "operator": TOKENS},
    # Pod Security would reject some of the requests before the platform's policies do.
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
    tolerations=["gpu=a100:NoSchedule", "spot"],
    loadBalancerClasses=["example.test/public"],
    allowedAnnotations=["service.beta.kubernetes.io/allowed"],
    quotas=[{"name": "devices", "hard": {"requests.amd.com/gpu": "4"}}],
    network={"egress": [{"cidr": "203.0.113.0/24"}, {"cidr": "198.51.100.0/24", "ports": [{"port": 443}]}]},
)
# The allow lists of tenant `rival` are empty or not set. The tenant has dedicated nodes, and egress to all
# addresses.
RIVAL = tenant_manifest(
    "rival",
    adminUsers=["mallory"],
    podSecurity="privileged",
    storageClasses=[],
    priorityClasses=[],
    dedicatedNodes="rivals",
    network={"egress": [{"cidr": "0.0.0.0/0"}, {"cidr": "::/0"}]},
)

# Rights that a tenant's admin does not have. Admission policies must reject a request even if RBAC allows it.
EXTRA_RULES = [
    {"apiGroups": [group], "resources": resources, "verbs": ["create", "update", "patch", "delete"]}
    for group, resources in {
        "": ["pods/attach", "pods/ephemeralcontainers", "pods/eviction", "resourcequotas"],
        "discovery.k8s.io": ["endpointslices"],
        "events.k8s.io": ["events"],
        **{
            kind.group: [each.plural for each in ROUTE_KINDS if each.group == kind.group]
            for kind in ROUTE_KINDS
        },
    }.items()
]
PRIORITY_CLASS = Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", False)
RUNTIME_CLASS = Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", False)
CLUSTER_ROLE_BINDING = Kind(f"{RBAC_GROUP}/v1", "ClusterRoleBinding", "clusterrolebindings", False)


@pytest.fixture(scope="session")
def administrator(running_platform: Platform) -> Iterator[Person]:
    """A client of a cluster administrator.

    The fixture creates the cluster-scoped objects that the tests need: PriorityClasses, RuntimeClasses, the
    CRDs of the Gateway API and of Istio, and a ClusterRoleBinding that makes user `carol` a `cluster-admin`.
    """
    admin = Person.named(running_platform.admin_kubeconfig, "root", "system:masters")
    requests = [
        *(create(PRIORITY_CLASS, name, value=10) for name in ("low", "high")),
        *(create(RUNTIME_CLASS, name, handler=name) for name in ("sandbox", "raw")),
        *(_crd(kind) for kind in ROUTE_KINDS),
        create(
            CLUSTER_ROLE_BINDING,
            "carol",
            roleRef={"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
            subjects=[{"apiGroup": RBAC_GROUP, "kind": "User", "name": "carol"}],
        ),
    ]
    for attempt in requests:
        admin.do(attempt)
    yield admin
    for attempt in requests:
        admin.do(attempt.deletion)


@pytest.fixture(scope="session")
def people(running_platform: Platform, administrator: Person) -> Iterator[People]:
    """A function that returns a client for a user name and an optional group name.

    When a test gets this function, both tenants are Active and all policies are in force.
    """

    def person(user: str, group: str = "") -> Person:
        return Person.named(running_platform.admin_kubeconfig, user, group)

    running_platform.ensure_started()
    for manifest in (ACME, RIVAL):
        running_platform.apply(manifest)
    for manifest in (ACME, RIVAL):
        running_platform.await_active(manifest)
    _grant_extra_rules(administrator)
    # Kubernetes creates these objects in each namespace. Pods need them, and tests try to change them.
    for namespace in (NAMESPACE, "tenant-rival"):
        for kind, name in ((SERVICE_ACCOUNT, "default"), (CONFIG_MAP, "kube-root-ca.crt")):
            eventually(
                partial(administrator.get, kind, name, namespace), f"{kind.kind} {name} exists in {namespace}"
            )
    for kind in ROUTE_KINDS:
        reaches = partial(_reaches_admission, person("alice"), kind)
        eventually(reaches, f"{kind.plural} are served, and alice may write them")
    # The platform creates this policy last. If the API server enforces it, it enforces all policies.
    probe = create(CLAIM, "probe", spec=claim_spec(storageClassName="slow"))
    eventually(lambda: denied_by("claims") in person("alice").refusal(probe), "the policies are in force")
    yield person
    running_platform.verify_and_abandon((ACME, RIVAL))


@pytest.fixture
def alice(people: People) -> Person:
    """The admin of tenant `acme`."""
    return people("alice")


@pytest.fixture
def mallory(people: People) -> Person:
    """The admin of tenant `rival`."""
    return people("mallory")


@pytest.fixture
def carol(people: People) -> Person:
    """A cluster-admin who is not in the group of the platform's operators."""
    return people("carol")


def _grant_extra_rules(administrator: Person) -> None:
    role_ref = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": "extra"}
    for namespace, user in ((NAMESPACE, "alice"), ("tenant-rival", "mallory")):
        subjects = [{"apiGroup": RBAC_GROUP, "kind": "User", "name": user}]
        administrator.do(create(ROLE, "extra", namespace, rules=EXTRA_RULES))
        administrator.do(create(ROLE_BINDING, "extra", namespace, roleRef=role_ref, subjects=subjects))


def _reaches_admission(person: Person, kind: Kind) -> bool:
    """Whether the API server serves the kind, and RBAC lets the person create objects of this kind.

    If so, only an admission policy can reject such a request.
    """
    try:
        return "cannot create resource" not in person.refusal(create(kind, "probe", spec={}))
    except ClusterError:
        return False


def _crd(kind: Kind) -> Attempt:
    """A request that creates a CRD for this kind, with a schema that accepts any field."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind.kind, "plural": kind.plural}
    spec = {"group": kind.group, "names": names, "scope": "Namespaced", "versions": [version]}
    approval = {"api-approved.kubernetes.io": "unapproved, for tests"}
    return create(CRD, kind.crd, annotations=approval, spec=spec)
