"""The desired state contains the objects that follow from the spec and the plan."""

from dataclasses import replace
from typing import Any

import pytest

from tenancy.base.errors import InvalidSpec
from tenancy.base.manifest import ObjectKey, object_key
from tenancy.desired import DesiredState, desired_state
from tenancy.objects.roles import ROLE_RULES
from tenancy.plans import read_plans
from tenancy.registrations import registrations
from tenancy.spec.access import AccessRole
from tenancy.spec.tenant import tenant_from_manifest


def desired(name: str = "acme", **spec: Any) -> DesiredState:
    return desired_state(tenant_from_manifest({"metadata": {"name": name}, "spec": spec}), read_plans())


def test_equal_specs_have_equal_digests_and_others_do_not() -> None:
    assert desired(plan="pro").digest == desired(plan="pro").digest
    assert desired(plan="pro").digest != desired(plan="basic").digest
    assert desired(adminUsers=["a", "b"]).digest == desired(adminUsers=["b", "a"]).digest


@pytest.mark.parametrize("kind", sorted({key.kind for key in desired().by_key}))
def test_change_of_any_object_changes_the_digest(kind: str) -> None:
    state = desired()
    for number, manifest in enumerate(state.manifests):
        if manifest["kind"] == kind:
            changed = list(state.manifests)
            changed[number] = {**manifest, "metadata": {**manifest["metadata"], "annotations": {"a": "b"}}}
            assert replace(state, manifests=tuple(changed)).digest != state.digest, object_key(manifest)
            del changed[number]
            assert replace(state, manifests=tuple(changed)).digest != state.digest, object_key(manifest)


def test_namespace_has_all_pod_security_labels() -> None:
    for level in ("restricted", "baseline"):
        namespace = desired(podSecurity=level).by_key[ObjectKey("Namespace", "", "tenant-acme")]
        labels = {
            key: value
            for key, value in namespace["metadata"]["labels"].items()
            if key.startswith("pod-security.")
        }
        modes = ("enforce", "audit", "warn")
        assert labels == {
            **{f"pod-security.kubernetes.io/{mode}": level for mode in modes},
            **{f"pod-security.kubernetes.io/{mode}-version": "latest" for mode in modes},
        }


def test_default_namespace_is_named_by_the_tenant_or_its_name_field() -> None:
    assert desired().namespaces == ("tenant-acme",)
    state = desired_state(
        tenant_from_manifest({"metadata": {"name": "acme"}, "spec": {"name": "main"}}), read_plans()
    )
    assert state.namespaces == ("tenant-acme-main",)


def test_every_namespace_comes_before_its_content() -> None:
    seen = set()
    for key in desired(namespaces=[{"name": "a"}, {"name": "b"}]).by_key:
        if key.kind == "Namespace":
            seen.add(key.name)
        else:
            assert key.namespace in seen


def test_role_bindings_depend_on_all_other_objects() -> None:
    """Because of these dependencies, users get access only after the namespace is isolated."""
    objects = registrations(desired())
    others = {index for index, entry in enumerate(objects) if entry.inputs["kind"] != "RoleBinding"}
    bindings = [entry for entry in objects if entry.inputs["kind"] == "RoleBinding"]
    assert len(bindings) == 3
    assert all(set(binding.depends_on) == others for binding in bindings)


def test_every_pod_is_selected_both_ways_by_each_policy() -> None:
    policies = [manifest["spec"] for key, manifest in desired().by_key.items() if key.kind == "NetworkPolicy"]
    assert len(policies) == 7
    for policy in policies:
        assert (policy["podSelector"], policy["policyTypes"]) == ({}, ["Ingress", "Egress"])
        assert {"ingress", "egress"} <= policy.keys()


def test_no_policy_lets_an_unnamed_neighbour_in_or_out() -> None:
    for key, manifest in desired().by_key.items():
        if key.kind == "NetworkPolicy":
            for rule in (*manifest["spec"]["ingress"], *manifest["spec"]["egress"]):
                peers = rule.get("from", []) + rule.get("to", [])
                assert peers, f"{key} has a rule that allows all peers"
                assert all(peer["namespaceSelector"]["matchLabels"] for peer in peers)


def permissions(role: AccessRole) -> set[tuple[str, str, str]]:
    """The permissions of a role. Each permission is an API group, a resource and a verb."""
    return {
        (group, resource, verb)
        for rule in ROLE_RULES[role]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_admin_may_what_operator_may_and_operator_may_not_delete_collections() -> None:
    admin, operator, viewer = (permissions(role) for role in AccessRole)
    assert operator < admin
    assert viewer < admin
    assert not [permission for permission in operator if permission[2] == "deletecollection"]
    assert ("", "pods/exec", "create") in operator
    assert {verb for _, _, verb in viewer} == {"get", "list", "watch"}
    assert not [permission for permission in admin if "*" in permission]


def test_viewer_reads_no_secrets() -> None:
    viewer = permissions(AccessRole.VIEWER)
    assert ("", "pods", "get") in viewer
    assert not [permission for permission in viewer if permission[1] == "secrets"]


def test_tenants_own_figures_stand_instead_of_the_plans() -> None:
    objects = desired(resourceQuotas={"cpu": 3, "memory": "2048Mi", "storage": "1Ti"}).by_key
    compute = objects[ObjectKey("ResourceQuota", "tenant-acme", "tenant-quota")]["spec"]["hard"]
    assert (compute["cpu"], compute["limits.cpu"], compute["memory"], compute["limits.memory"]) == (
        *("3", "3"),
        *("2Gi", "2Gi"),
    )
    assert compute["requests.ephemeral-storage"] == "2Gi"
    storage = objects[ObjectKey("ResourceQuota", "tenant-acme", "tenant-quota-storage")]["spec"]["hard"]
    assert storage == {"requests.storage": "1Ti"}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"plan": 7}, "spec.plan"),
        ({"surprise": True}, "spec.surprise"),
        ({"namespaces": [{"name": "A"}]}, "spec.namespaces[0].name"),
        ({"namespaces": [{"name": "a"}, {"name": "a"}]}, "spec.namespaces[1].name"),
        ({"namespaces": [{"name": "n" * 60}]}, "spec.namespaces[0].name"),
        ({"name": "n" * 60}, "spec.name"),
        ({"resourceQuotas": {"memory": "16Ei"}}, "spec.resourceQuotas.memory"),
        ({"resourceQuotas": {"memory": "1e999999999"}}, "spec.resourceQuotas.memory"),
        ({"access": [{"kind": "ServiceAccount", "name": "ci/runner"}]}, "spec.access[0].name"),
        ({"rbacConfig": {"serviceAccounts": ["n" * 64 + "/x"]}}, "spec.rbacConfig.serviceAccounts[0]"),
        ({"resourceQuotas": {"cpu": "x"}}, "spec.resourceQuotas.cpu"),
        ({"resourceQuotas": {"cpu": "-1"}}, "spec.resourceQuotas.cpu"),
        ({"access": [{"kind": "User", "name": "x", "namespace": "y"}]}, "spec.access[0].namespace"),
        ({"adminUsers": ["x", "x"]}, "spec.adminUsers[1]"),
    ],
)
def test_bad_spec_is_refused_by_its_field(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSpec) as error:
        tenant_from_manifest({"metadata": {"name": "acme"}, "spec": spec})
    assert error.value.field == field
