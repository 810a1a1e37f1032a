"""The rights of users, groups and service accounts in a tenant's namespaces.

The tests check the rights with SubjectAccessReviews.
"""

from collections.abc import Iterator

import pytest

from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest
from tests.platform import NewTenant, Platform, tenant_manifest

REVIEW = Kind("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", is_namespaced=False)
DEV, PROD = "tenant-access-dev", "tenant-access-prod"
KAFKA = {"apiGroups": ["kafka.strimzi.io"], "resources": ["kafkas"], "verbs": ["get", "create"]}
SPEC: Manifest = {
    "adminUsers": ["alice"],
    "rbacConfig": {
        "users": ["adam"],
        "groups": ["owners"],
        "serviceAccounts": ["deployer", "ci/runner"],
    },
    "access": [
        {"kind": "User", "name": "olga", "role": "operator"},
        {"kind": "Group", "name": "oncall", "role": "operator", "namespaces": ["prod"]},
        {"kind": "ServiceAccount", "name": "agent", "role": "operator"},
        {"kind": "User", "name": "victor", "role": "viewer"},
        {"kind": "ServiceAccount", "name": "scraper", "namespace": "monitoring", "role": "viewer"},
    ],
    "namespaces": [{"name": "dev"}, {"name": "prod"}],
    "roles": {"admin": [KAFKA], "operator": [{**KAFKA, "verbs": ["get"]}]},
}


@pytest.fixture(autouse=True, scope="module")
def tenant(running_platform: Platform) -> Iterator[None]:
    """Create a tenant that all tests of this module share. No test changes the tenant."""
    running_platform.ensure_started()
    manifest = tenant_manifest("access", **SPEC)
    running_platform.apply(manifest)
    running_platform.await_active(manifest)
    yield
    running_platform.verify_and_abandon([manifest])


def account(namespace: str, name: str) -> str:
    return f"system:serviceaccount:{namespace}:{name}"


def is_allowed(
    platform: Platform,
    user: str,
    verb: str,
    resource: str,
    namespace: str = DEV,
    groups: tuple[str, ...] = (),
) -> bool:
    """Whether RBAC allows the request. Examples for `resource` are `pods/exec` and `jobs.batch`."""
    qualified_name, _, subresource = resource.partition("/")
    name, _, group = qualified_name.partition(".")
    attributes = {
        "verb": verb,
        "group": group,
        "resource": name,
        "subresource": subresource,
        "namespace": namespace,
    }
    review = {
        "apiVersion": REVIEW.api_version,
        "kind": REVIEW.kind,
        "metadata": {},
        "spec": {"user": user, "groups": list(groups), "resourceAttributes": attributes},
    }
    allowed: bool = platform.admin.create(REVIEW, review)["status"]["allowed"]
    return allowed


# For each user, the allowed requests and the denied requests.
RIGHTS: dict[str, tuple[list[str], list[str]]] = {
    "alice": (
        [
            *("get pods", "deletecollection pods", "create pods/exec", "create pods/portforward"),
            *("get pods/log", "patch pods/status", "get services/proxy", "update endpoints"),
            *("list secrets", "delete configmaps", "create serviceaccounts", "list events"),
            *("update limitranges", "create podtemplates", "create persistentvolumeclaims"),
            *("create deployments.apps", "create jobs.batch", "create ingresses.networking.k8s.io"),
            *("create horizontalpodautoscalers.autoscaling", "create poddisruptionbudgets.policy"),
            *("create roles.rbac.authorization.k8s.io", "create rolebindings.rbac.authorization.k8s.io"),
            *("create networkpolicies.networking.k8s.io", "get namespaces", "get resourcequotas"),
            *("create aisessions.platform.ai", "deletecollection aisessions.platform.ai"),
            "create kafkas.kafka.strimzi.io",
        ],
        [
            *("delete namespaces", "patch namespaces", "update resourcequotas", "delete resourcequotas"),
            *("escalate roles.rbac.authorization.k8s.io", "bind roles.rbac.authorization.k8s.io"),
            *("impersonate serviceaccounts", "get nodes", "get tenants.platform.ai"),
            "patch aisessions.platform.ai/status",
            "delete kafkas.kafka.strimzi.io",
        ],
    ),
    "olga": (
        [
            *("get pods", "delete pods", "create pods/exec", "get pods/log", "create services"),
            *("update configmaps", "get secrets", "create deployments.apps", "delete jobs.batch"),
            *("create aisessions.platform.ai", "delete aisessions.platform.ai"),
            "get kafkas.kafka.strimzi.io",
        ],
        [
            "deletecollection aisessions.platform.ai",
            *("deletecollection pods", "deletecollection deployments.apps", "create pods/portforward"),
            *("create serviceaccounts", "update limitranges", "create roles.rbac.authorization.k8s.io"),
            *("create networkpolicies.networking.k8s.io", "update resourcequotas"),
            "create kafkas.kafka.strimzi.io",
        ],
    ),
    "victor": (
        [
            *("get pods", "get pods/log", "list configmaps", "watch deployments.apps", "get resourcequotas"),
            *("list networkpolicies.networking.k8s.io", "get namespaces", "watch aisessions.platform.ai"),
        ],
        [
            *("get secrets", "list secrets", "create pods", "delete pods", "create pods/exec"),
            *("create aisessions.platform.ai", "delete aisessions.platform.ai"),
            *("update configmaps", "patch deployments.apps", "get kafkas.kafka.strimzi.io"),
        ],
    ),
    "nobody": ([], ["get pods", "get namespaces", "list configmaps"]),
}


@pytest.mark.parametrize("user", RIGHTS)
def test_role_allows_its_rules_and_nothing_else(user: str, platform: Platform) -> None:
    allowed, denied = RIGHTS[user]
    requests = [*allowed, *denied]
    results = {
        request: is_allowed(platform, user, verb, resource)
        for request in requests
        for verb, resource in [request.split()]
    }
    assert results == {request: request in allowed for request in requests}


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        ("alice", ()),
        ("adam", ()),
        ("anyone", ("owners",)),
        (account(DEV, "deployer"), ()),
        (account("ci", "runner"), ()),
    ],
)
def test_each_way_to_name_an_admin_gives_admin_rights(
    user: str, groups: tuple[str, ...], platform: Platform
) -> None:
    assert is_allowed(platform, user, "deletecollection", "secrets", DEV, groups)
    assert not is_allowed(platform, user, "deletecollection", "secrets", "default", groups)


def test_service_account_without_a_namespace_means_one_in_each_namespace(platform: Platform) -> None:
    for name, verb in (("deployer", "deletecollection"), ("agent", "delete")):
        for namespace in (DEV, PROD):
            assert is_allowed(platform, account(namespace, name), verb, "pods", namespace)
        assert not is_allowed(platform, account(DEV, name), verb, "pods", PROD)
        assert not is_allowed(platform, account("other", name), verb, "pods", DEV)
    assert is_allowed(platform, account("monitoring", "scraper"), "list", "pods", PROD)
    assert not is_allowed(platform, account(PROD, "scraper"), "list", "pods", PROD)


def test_access_to_one_namespace_ends_there(platform: Platform) -> None:
    assert is_allowed(platform, "anyone", "delete", "pods", PROD, ("oncall",))
    assert not is_allowed(platform, "anyone", "delete", "pods", DEV, ("oncall",))


def test_removed_entry_removes_its_rights(platform: Platform, new_tenant: NewTenant) -> None:
    namespace = "tenant-leavers"
    manifest = new_tenant("leavers", adminUsers=["alice", "eve"], roles={"admin": [KAFKA]})
    platform.await_active(manifest)
    assert is_allowed(platform, "eve", "get", "pods", namespace)
    assert is_allowed(platform, "alice", "create", "kafkas.kafka.strimzi.io", namespace)
    platform.apply({**manifest, "spec": {"adminUsers": ["alice"]}})
    platform.await_active(manifest)
    assert not is_allowed(platform, "eve", "get", "pods", namespace)
    assert is_allowed(platform, "alice", "get", "pods", namespace)
    assert not is_allowed(platform, "alice", "create", "kafkas.kafka.strimzi.io", namespace)


def test_rule_beyond_the_admins_rights_is_rejected_with_its_field(
    platform: Platform, new_tenant: NewTenant
) -> None:
    rule = {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["update"]}
    manifest = new_tenant("greedy", roles={"admin": [rule]})
    ready = platform.await_condition(manifest, "InvalidSpec")
    assert ready["message"].startswith("spec.roles.admin[0].verbs[0]: 'update' on 'resourcequotas'")
