"""The limits on the number of objects, and the number of bytes that a tenant's users can store in etcd."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tenancy.admission.manifests import admission_manifests
from tenancy.base.errors import InvalidSpec
from tenancy.base.kinds import AISESSION, RBAC_GROUP
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.quantity import quantity_value
from tenancy.base.quota_keys import SHORT_COUNT_KEYS
from tenancy.desired import DesiredState, desired_state
from tenancy.objects.object_counts import OBJECT_COUNTS, creatable_resources
from tenancy.objects.object_sizes import size_limit
from tenancy.plans import Plans, read_plans
from tenancy.quota_transition import budget_problem, budget_step
from tenancy.sessions.results import OUTPUT_MAX_BYTES
from tenancy.spec.tenant import tenant_from_manifest

PLANS = read_plans()
OWN_PLAN = {"maxNamespaces": 100, "quotas": [{"name": "compute", "hard": {"cpu": 4}}], "limits": {}}
MIB = 2**20
# The watcher adds the result of a session to the AISession: at most 4096 bytes of output, and a few small
# fields.
RESULT_SIZE = OUTPUT_MAX_BYTES + 1024
# The API server stores custom resources as JSON. In JSON, one character can take six bytes: for example, the
# encoder writes `<` as `\u003c`. The API server stores all other objects in a binary format.
JSON_FACTOR = 6
BUILT_IN_GROUPS = ("", "apps", "autoscaling", "batch", "networking.k8s.io", "policy", RBAC_GROUP)
# Kubernetes creates these objects for the Services and Endpoints of users.
DERIVED = {"endpointslices.discovery.k8s.io": 32 * 1024}


def tenant(count: int = 1, plan: str = "basic", plans: Plans = PLANS, **spec: Any) -> DesiredState:
    namespaces = [{"name": f"n{index}"} for index in range(count)]
    manifest = {"metadata": {"name": "acme"}, "spec": {"plan": plan, "namespaces": namespaces, **spec}}
    return desired_state(tenant_from_manifest(manifest), plans)


def own_plan(count: int = 1, hard: Any = None, **spec: Any) -> DesiredState:
    quotas = [*OWN_PLAN["quotas"], *([{"name": "more", "hard": hard}] if hard else [])]  # type: ignore[misc]
    plans = Plans.model_validate({"plans": {"basic": {**OWN_PLAN, "quotas": quotas}}})
    return tenant(count, plans=plans, **spec)


def counts(state: DesiredState, namespace: str = "n0") -> dict[str, int]:
    quota = state.by_key[ObjectKey("ResourceQuota", f"tenant-acme-{namespace}", OBJECT_COUNTS)]
    hard = quota["spec"]["hard"]
    return {resource.removeprefix("count/"): int(quantity_value(text)) for resource, text in hard.items()}


def objects_of_kind(state: DesiredState, kind: str) -> Iterator[tuple[str, Manifest]]:
    for key, manifest in state.by_key.items():
        if key.kind == kind:
            yield key.namespace, manifest


def lowest_limits(state: DesiredState) -> dict[tuple[str, str], Decimal]:
    """The lowest limit on the number of objects, keyed by namespace and resource."""
    limits: dict[tuple[str, str], Decimal] = {}
    for namespace, quota in objects_of_kind(state, "ResourceQuota"):
        for key, text in quota["spec"]["hard"].items():
            if key.startswith("count/") or key in SHORT_COUNT_KEYS:
                place, limit = (namespace, key.removeprefix("count/")), quantity_value(text)
                limits[place] = min(limit, limits.get(place, limit))
    return limits


def worst_case(state: DesiredState) -> int:
    """The number of bytes that the tenant's users can store. Fails if there is a kind without a limit."""
    limits, total = lowest_limits(state), Decimal(0)
    created = {
        (namespace, resource)
        for namespace, role in objects_of_kind(state, "Role")
        for resource in creatable_resources(role["rules"])
    }
    for namespace, resource in created:
        assert (namespace, resource) in limits, f"no quota limits {resource} in {namespace}"
        group = resource.partition(".")[2]
        is_custom = group not in BUILT_IN_GROUPS
        size = size_limit(resource) + (RESULT_SIZE if resource == AISESSION.resource else 0)
        total += limits[namespace, resource] * size * (JSON_FACTOR if is_custom else 1)
    for resource, size in DERIVED.items():
        total += sum(limits[namespace, resource] * size for namespace in state.namespaces)
    return int(total)


@pytest.mark.parametrize(("plan", "maximum"), [("basic", 256), ("pro", 2048), ("enterprise", 2048)])
def test_tenant_cannot_fill_etcd(plan: str, maximum: int) -> None:
    most = PLANS.plan(plan).max_namespaces
    for count in {1, min(25, most), most}:
        assert worst_case(tenant(count, plan)) < maximum * MIB, count


def test_every_shipped_plan_is_checked() -> None:
    assert set(PLANS.plans) == {"basic", "pro", "enterprise"}


def test_plan_of_a_user_has_the_same_limits() -> None:
    assert worst_case(own_plan(100)) < 2048 * MIB


def test_kind_that_a_rule_adds_is_limited() -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["widgets", "widgets/status"], "verbs": ["create"]}
    state = tenant(roles={"admin": [rule]})
    assert counts(state)["widgets.example.com"] == 40
    assert "widgets/status.example.com" not in counts(state)
    assert worst_case(state) > worst_case(tenant())


def test_kind_that_users_cannot_create_is_not_limited() -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get", "update"]}
    assert "widgets.example.com" not in counts(tenant(roles={"admin": [rule]}))


def test_key_that_kubernetes_rejects_is_left_out() -> None:
    group = f"{'x' * 60}.example.com"
    rule = {"apiGroups": [group], "resources": ["widgets"], "verbs": ["create"]}
    assert f"widgets.{group}" not in counts(tenant(roles={"admin": [rule]}))


def test_every_object_of_a_user_has_a_size_limit() -> None:
    manifests = {
        manifest["metadata"]["name"]: manifest
        for manifest in admission_manifests("watcher")
        if manifest["kind"] == "ValidatingAdmissionPolicy"
    }
    spec = manifests["tenancy-object-sizes"]["spec"]
    rules = spec["matchConstraints"]["resourceRules"]
    assert [(rule["apiGroups"], rule["resources"]) for rule in rules] == [(["*"], ["*/*"])]


def test_limits_do_not_include_the_objects_of_the_platform() -> None:
    extra = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "builder"}}
    plain, more = counts(own_plan()), counts(own_plan(extraResources=[extra]))
    assert more["serviceaccounts"] == plain["serviceaccounts"] + 5
    assert plain["roles.rbac.authorization.k8s.io"] == 40 + 5


def test_one_more_object_of_the_platform_seldom_changes_the_limits() -> None:
    network = {"egress": [{"cidr": "203.0.113.0/24"}]}
    assert len(tenant(network=network).manifests) == len(tenant().manifests) + 1
    assert counts(tenant(network=network)) == counts(tenant())


def test_limits_are_split_among_many_namespaces_and_never_0() -> None:
    assert counts(own_plan(25)) == counts(own_plan(1))
    assert counts(own_plan(50))["deployments.apps"] == 50
    few = counts(own_plan(100))
    assert (few["configmaps"], few["secrets"], few["deployments.apps"]) == (50, 50, 25)
    assert min(few.values()) >= 10


@pytest.mark.parametrize(
    ("hard", "resource"),
    [
        ({"count/deployments.apps": 500}, "deployments.apps"),
        ({"count/configmaps": 500}, "configmaps"),
        ({"count/pods": 500}, "pods"),
        ({"services": 500}, "services"),
        ({"configmaps": 500}, "configmaps"),
    ],
)
def test_quota_of_the_plan_replaces_the_limit(hard: dict[str, int], resource: str) -> None:
    assert resource in counts(own_plan())
    assert resource not in counts(own_plan(hard=hard))


def test_configmaps_and_secrets_are_limited_in_the_whole_tenant() -> None:
    hard = {"configmaps": 200, "secrets": 40}
    state = counts(own_plan(100, hard))
    assert state["configmaps"] == 50
    assert "secrets" not in state


def test_pods_that_have_ended_are_limited_too() -> None:
    assert counts(tenant())["pods"] == 20 + 100
    assert counts(own_plan())["pods"] == 200 + 100


def test_quota_with_a_scope_replaces_no_limit() -> None:
    scope = {"matchExpressions": [{"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}]}
    spec = {"hard": {"pods": 0}, "scopeSelector": scope}
    extra = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "scoped"}, "spec": spec}
    state = tenant(extraResources=[extra])
    quota = state.by_key[ObjectKey("ResourceQuota", "tenant-acme-n0", "scoped")]
    assert quota["spec"] == {"hard": {"pods": "0"}, "scopeSelector": scope}
    assert counts(state) == counts(tenant())


def test_services_get_their_endpoints() -> None:
    limits = counts(own_plan(hard={"services": 100}))
    assert (limits["endpoints"], limits["endpointslices.discovery.k8s.io"]) == (100, 200)


def test_limit_is_written_as_the_api_server_writes_it() -> None:
    state = own_plan(hard={"services": 1000})
    quota = state.by_key[ObjectKey("ResourceQuota", "tenant-acme-n0", OBJECT_COUNTS)]
    assert quota["spec"]["hard"]["count/endpointslices.discovery.k8s.io"] == "2k"


def test_name_is_reserved() -> None:
    with pytest.raises(InvalidSpec, match="use another name") as error:
        tenant(quotas=[{"name": OBJECT_COUNTS, "hard": {"pods": 1}}])
    assert error.value.field == "spec.quotas"
    metadata, spec = {"name": OBJECT_COUNTS}, {"hard": {"pods": 1}}
    extra = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}
    with pytest.raises(InvalidSpec, match="choose another name"):
        tenant(extraResources=[extra])


def test_quota_of_the_platform_does_not_count_against_the_limit_of_quotas() -> None:
    hard = own_plan(hard={"resourcequotas": 2}).by_key[ObjectKey("ResourceQuota", "tenant-acme-n0", "more")]
    assert hard["spec"]["hard"] == {"resourcequotas": "3"}


def test_limits_are_not_part_of_the_budget() -> None:
    scope: dict[str, Any] = {"quotaScope": "Tenant"}
    assert counts(tenant(2, **scope))["deployments.apps"] == 100
    old, new = own_plan(25, **scope), own_plan(50, **scope)
    used = {key: {**manifest, "status": {}} for key, manifest in old.by_key.items()}
    for key, manifest in used.items():
        if key.name == OBJECT_COUNTS:
            manifest["status"] = {"hard": manifest["spec"]["hard"], "used": {"count/deployments.apps": "90"}}
    assert budget_problem(new, used) is None
    assert counts(budget_step(new, used)) == counts(new)
