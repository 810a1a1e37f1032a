"""Invalid specs are rejected as early as possible. The message names the field, and no object changes."""

from typing import Any

import pytest

from cluster.errors import ClusterError
from tenancy.base.labels import TENANT_LABEL
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually

# The API server rejects these Tenants. Each value is a name, a spec, and the field that the message names.
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "bad quantity": ("bad", {"resourceQuotas": {"cpu": "lots"}}, "spec.resourceQuotas.cpu"),
    "quantity out of range": ("bad", {"resourceQuotas": {"cpu": "16Ei"}}, "spec.resourceQuotas.cpu"),
    "service account with a namespace in its name": (
        "bad",
        {"access": [{"kind": "ServiceAccount", "name": "ci/runner"}]},
        "spec.access[0].name",
    ),
    "negative quantity": ("bad", {"resourceQuotas": {"memory": "-1Gi"}}, "spec.resourceQuotas.memory"),
    "bad purpose": ("bad", {"namespaces": [{"name": "a", "purpose": "fun"}]}, "spec.namespaces[0].purpose"),
    "duplicate namespace": ("bad", {"namespaces": [{"name": "a"}, {"name": "a"}]}, "spec.namespaces[1]"),
    "namespace too long once prefixed": ("bad", {"namespaces": [{"name": "n" * 60}]}, "spec.namespaces"),
    "default namespace too long once prefixed": ("bad", {"name": "n" * 60}, "spec.name"),
    "tenant name too long": ("t" * 71, {}, "metadata.name: must have at most 56 characters, because"),
    "tenant name one character too long": ("t" * 57, {}, "metadata.name"),
    "tenant name with a dot": ("a.b", {}, "metadata.name"),
    "namespace of a user": (
        "bad",
        {"access": [{"kind": "User", "name": "x", "namespace": "y"}]},
        "spec.access[0]",
    ),
    "bad role": ("bad", {"access": [{"kind": "User", "name": "x", "role": "god"}]}, "spec.access[0].role"),
    "user named twice": ("bad", {"adminUsers": ["x", "x"]}, "spec.adminUsers[1]"),
    "bad service account": (
        "bad",
        {"rbacConfig": {"serviceAccounts": ["A/b/c"]}},
        "spec.rbacConfig.serviceAccounts[0]",
    ),
    "existing namespace without adoption": (
        "bad",
        {"namespaces": [{"name": "a", "existing": "b"}]},
        "spec.adopt: Invalid value",
    ),
    "verb that no tenant can have": (
        "bad",
        {"roles": {"admin": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}]}},
        "spec.roles.admin[0].verbs[0]",
    ),
    "resource of a quota that is not a name": (
        "bad",
        {"quotas": [{"name": "q", "hard": {"A b": "1"}}]},
        "spec.quotas[0].hard",
    ),
    "host with an empty part": ("bad", {"hostnames": ["a..b"]}, "spec.hostnames[0]"),
    "plan that is not a name": ("bad", {"plan": "No Plan!"}, "spec.plan"),
    "escape in the display name": ("bad", {"displayName": "a\x1b[31m"}, "spec.displayName"),
    "line break in a user's name": ("bad", {"adminUsers": ["a\nb"]}, "spec.adminUsers[0]"),
}


@pytest.mark.parametrize("group", ["platform.ai", "kleff.kleff.io"])
@pytest.mark.parametrize("case", REFUSED)
def test_api_server_rejects(case: str, group: str, platform: Platform) -> None:
    name, spec, field = REFUSED[case]
    with pytest.raises(ClusterError) as error:
        platform.create({**tenant_manifest(name, group), "spec": spec})
    assert error.value.status == 422
    assert field in str(error.value)


# The watcher rejects these specs. Each value is a spec, a reason and a message.
FAILED: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown plan": (
        {"plan": "gold"},
        "UnknownPlan",
        "spec.plan: there is no plan 'gold'; known: basic, enterprise, pro",
    ),
    "too many namespaces": (
        {"plan": "basic", "namespaces": [{"name": f"n{number}"} for number in range(6)]},
        "InvalidSpec",
        (
            "spec.namespaces: the tenant has 6 namespaces, but plan 'basic' allows 5; remove namespaces, or"
            " choose another plan"
        ),
    ),
    "access to an unknown namespace": (
        {"namespaces": [{"name": "a"}], "access": [{"kind": "User", "name": "x", "namespaces": ["b"]}]},
        "InvalidSpec",
        "spec.access[0].namespaces[0]: there is no namespace 'b' in spec.namespaces",
    ),
}


@pytest.mark.parametrize("case", FAILED)
def test_status_names_the_field(case: str, platform: Platform, new_tenant: NewTenant) -> None:
    spec, reason, message = FAILED[case]
    name = case.replace(" ", "-")
    manifest = new_tenant(name, **spec)
    ready = platform.await_condition(manifest, reason)
    assert ready["message"] == message
    tenant = platform.tenant(manifest)
    assert tenant is not None
    assert tenant["status"]["phase"] == "Failed"
    assert "finalizers" not in tenant["metadata"]
    assert platform.objects(name) == {}


def test_spec_that_becomes_invalid_leaves_the_objects_unchanged(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("turns", adminUsers=["alice"])
    platform.await_active(manifest)
    before = platform.objects("turns")
    platform.apply({**manifest, "spec": {"plan": "gold"}})
    platform.await_condition(manifest, "UnknownPlan")
    after = platform.objects("turns")
    assert {key: item["metadata"]["uid"] for key, item in after.items()} == {
        key: item["metadata"]["uid"] for key, item in before.items()
    }
    platform.apply(manifest)
    platform.await_active(manifest)


def test_namespace_of_another_tenant_is_never_shared(platform: Platform, new_tenant: NewTenant) -> None:
    first = new_tenant("a", namespaces=[{"name": "b-c"}])
    platform.await_active(first)
    second = new_tenant("a-b", namespaces=[{"name": "c"}])
    ready = platform.await_condition(second, "NamespaceTaken")
    assert ready["message"] == (
        "spec.namespaces[0].name: namespace 'tenant-a-b-c' belongs to tenant 'a'; choose another namespace"
    )
    labels = (platform.namespace("tenant-a-b-c") or {})["metadata"]["labels"]
    assert labels["tenant.platform.ai/name"] == "a"

    platform.delete(second)
    platform.await_gone(second)
    assert platform.namespace("tenant-a-b-c") is not None


def test_two_tenants_at_once_do_not_both_get_the_namespace(platform: Platform, new_tenant: NewTenant) -> None:
    rivals = [new_tenant("r", namespaces=[{"name": "x-y"}]), new_tenant("r-x", namespaces=[{"name": "y"}])]

    def final_phases() -> list[str] | None:
        phases = [(platform.tenant(rival) or {}).get("status", {}).get("phase") for rival in rivals]
        return sorted(phases) if set(phases) <= {"Active", "Failed"} else None

    assert eventually(final_phases, "each tenant is Active or Failed") == ["Active", "Failed"]
    # The watcher searches for the last applied objects of the rejected tenant, and must find no objects.
    platform.await_active(new_tenant("r-later"))
    owners = {
        live_object["metadata"]["labels"][TENANT_LABEL]
        for rival in rivals
        for live_object in platform.objects(rival["metadata"]["name"]).values()
    }
    assert len(owners) == 1


def test_namespace_without_a_tenant_is_not_taken_over(platform: Platform, new_tenant: NewTenant) -> None:
    metadata = {"name": "tenant-squat", "labels": {"team": "legacy"}}
    platform.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    manifest = new_tenant("squat")
    ready = platform.await_condition(manifest, "NamespaceTaken")
    assert ready["message"] == (
        "metadata.name: namespace 'tenant-squat' exists already and belongs to no tenant; "
        "set spec.adopt to true to adopt it"
    )
    assert list(platform.objects("squat")) == []

    platform.remove("Namespace", "", "tenant-squat")
    platform.await_active(manifest)
