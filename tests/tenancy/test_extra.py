"""Extra objects: the allowed kinds and fields, the placeholders, and the fields that errors name."""

from typing import Any

import pytest

from tenancy.base.errors import InvalidSpec, PlansError
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import Plans, plans_from_text, read_plans
from tenancy.spec.tenant import tenant_from_manifest

Extras = list[Manifest]


def extra(kind: str = "ConfigMap", name: str = "x", version: str = "v1", **body: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body}


def policy(**spec: Any) -> Manifest:
    return extra("NetworkPolicy", version="networking.k8s.io/v1", spec=spec)


def plans_with(*extras: Manifest) -> Plans:
    plan = {"maxNamespaces": 5, "quotas": [{"name": "q", "hard": {"cpu": 1}}], "limits": {}}
    text = str({"plans": {"basic": {**plan, "extraResources": list(extras)}}})
    return plans_from_text(text)


def desired(*extras: Manifest, plans: Plans | None = None, **spec: Any) -> DesiredState:
    spec = {"extraResources": list(extras), **spec}
    return desired_state(
        tenant_from_manifest({"metadata": {"name": "acme"}, "spec": spec}), plans or read_plans()
    )


def extra_in(state: DesiredState, kind: str = "ConfigMap") -> Manifest:
    """The extra object `x` of this kind in the tenant's first namespace."""
    return state.by_key[ObjectKey(kind, state.namespaces[0], "x")]


def test_facts_of_the_tenant_are_filled_in_each_namespace() -> None:
    names = ("name", "namespace", "purpose", "plan", "labels[kleff.io/tenant-username]")
    text = " ".join(f"${{tenant.{name}}}" for name in names)
    state = desired(
        {
            **extra(name="${tenant.name}-facts", data={"${tenant.name}.txt": text}),
            "metadata": {"name": "${tenant.name}-facts", "labels": {"of-${tenant.name}": "${tenant.plan}"}},
        },
        username="joe",
        namespaces=[{"name": "a", "purpose": "staging"}, {"name": "b"}],
    )
    a, b = (state.by_key[ObjectKey("ConfigMap", f"tenant-acme-{name}", "acme-facts")] for name in ("a", "b"))
    assert a["data"] == {"acme.txt": "acme tenant-acme-a staging basic joe"}
    assert b["data"] == {"acme.txt": "acme tenant-acme-b development basic joe"}
    assert a["metadata"]["labels"] == {
        "of-acme": "basic",
        "tenant.platform.ai/name": "acme",
        "tenant.platform.ai/managed": "true",
    }


def test_namespace_without_a_purpose_is_for_development() -> None:
    assert extra_in(desired(extra(data={"p": "${tenant.purpose}"})))["data"] == {"p": "development"}


def test_dollars_of_other_people_are_left_alone() -> None:
    script = "echo ${HOME} $tenant ${tenant} $${x} $(date) ${tenants.name}"
    assert extra_in(desired(extra(data={"run.sh": script})))["data"] == {"run.sh": script}


def test_plans_objects_come_before_the_tenants() -> None:
    state = desired(extra(name="mine"), plans=plans_with(extra(name="plans")))
    assert [key.name for key in state.by_key if key.kind == "ConfigMap"] == ["plans", "mine"]


def test_what_the_server_would_add_is_there_already() -> None:
    peer = {"podSelector": {"matchLabels": {"a": "b"}}}
    state = desired(
        policy(egress=[{"to": [peer], "ports": [{"port": 80}]}]),
        extra("Service", spec={"ports": [{"port": 80}]}),
        extra("ResourceQuota", spec={"hard": {"cpu": 1, "memory": "1024Mi"}}),
    )
    assert extra_in(state, "NetworkPolicy")["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [],
        "egress": [{"to": [peer], "ports": [{"protocol": "TCP", "port": 80}]}],
    }
    assert extra_in(state, "Service")["spec"]["type"] == "ClusterIP"
    assert extra_in(state, "ResourceQuota")["spec"]["hard"] == {"cpu": "1", "memory": "1Gi"}


# Objects that are invalid for all tenants. Each value is the object, the invalid field, and a part of the
# message.
INVALID: dict[str, tuple[Manifest, str, str]] = {
    "a kind that holds secrets": (
        extra("Secret"),
        "kind",
        "allowed kinds: ConfigMap (v1), ServiceAccount (v1)",
    ),
    "a kind that grants permissions": (
        extra("Role", version="rbac.authorization.k8s.io/v1"),
        "kind",
        "'Role' is not allowed",
    ),
    "no kind at all": ({"metadata": {"name": "x"}}, "kind", "not allowed"),
    "another version": (extra(version="v2"), "apiVersion", "'v2' is not allowed"),
    "a namespace of its own": (
        {**extra(), "metadata": {"name": "x", "namespace": "y"}},
        "metadata.namespace",
        "no such field",
    ),
    "an owner reference": (
        {**extra(), "metadata": {"name": "x", "ownerReferences": []}},
        "metadata.ownerReferences",
        "no such field",
    ),
    "a finalizer": (
        {**extra(), "metadata": {"name": "x", "finalizers": []}},
        "metadata.finalizers",
        "no such field",
    ),
    "no name": ({**extra(), "metadata": {}}, "metadata.name", "required"),
    "a name that the API server generates": (
        {**extra(), "metadata": {"generateName": "x"}},
        "metadata.generateName",
        "no such field here; spec.extraResources[1].metadata.name: is required",
    ),
    "a reserved label": (
        {**extra(), "metadata": {"name": "x", "labels": {"tenant.platform.ai/name": "other"}}},
        "metadata.labels.tenant.platform.ai/name",
        "reserved",
    ),
    "an annotation that configures Pulumi": (
        {**extra(), "metadata": {"name": "x", "annotations": {"pulumi.com/waitFor": "x"}}},
        "metadata.annotations.pulumi.com/waitFor",
        "reserved",
    ),
    "a status": (extra(status={}), "status", "no such field"),
    "data that is not text": (extra(data={"a": {}}), "data.a", "string"),
    "an unknown placeholder": (
        extra(data={"a": "${tenant.nam}"}),
        "data.a",
        "unknown placeholder ${tenant.nam}; known: ${tenant.name}",
    ),
    "a placeholder that is not closed": (extra(data={"a": "${tenant.name"}), "data.a", "unknown placeholder"),
    "a node port": (extra("Service", spec={"type": "NodePort"}), "spec.type", "ClusterIP"),
    "an external IP": (
        extra("Service", spec={"externalIPs": ["192.0.2.1"]}),
        "spec.externalIPs",
        "must be empty",
    ),
    "an invalid quantity": (
        extra("ResourceQuota", spec={"hard": {"cpu": "lots"}}),
        "spec.hard.cpu",
        "not a Kubernetes quantity",
    ),
    "a policy without peers": (policy(ingress=[{}]), "spec.ingress[0].from", "required"),
    "a policy for all namespaces": (
        policy(ingress=[{"from": [{"namespaceSelector": {"matchLabels": {}}}]}]),
        "spec.ingress[0].from[0].namespaceSelector",
        "select everything",
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_bad_object_is_refused_by_its_field_in_a_tenant_and_in_a_plan(case: str) -> None:
    manifest, field, message = INVALID[case]
    with pytest.raises(InvalidSpec) as invalid_spec:
        desired(extra(name="good"), manifest)
    assert invalid_spec.value.field == f"spec.extraResources[1].{field}"
    assert message in str(invalid_spec.value)
    with pytest.raises(PlansError) as plans_error:
        plans_with(extra(name="good"), manifest)
    assert f"plans.basic.extraResources[1].{field}: " in str(plans_error.value)


# Names that are invalid for this tenant, for example because they are already used. Each value is the list of
# objects, and the index of the invalid object.
UNUSABLE_NAMES: dict[str, tuple[Extras, str]] = {
    "the platform's quota": ([extra("ResourceQuota", "tenant-quota", spec={"hard": {"cpu": 1}})], "[0]"),
    "the platform's limit range": (
        [extra("LimitRange", "tenant-limits", spec={"limits": [{"type": "Pod"}]})],
        "[0]",
    ),
    "the platform's network policy": (
        [{**policy(), "metadata": {"name": "default-deny-all"}}],
        "[0]",
    ),
    "a name given twice": ([extra(), extra()], "[1]"),
    "the same name after placeholders are replaced": (
        [extra(name="acme"), extra(name="${tenant.name}")],
        "[1]",
    ),
    "an invalid name after placeholders are replaced": ([extra(name="-${tenant.name}")], "[0]"),
}


@pytest.mark.parametrize("case", UNUSABLE_NAMES)
def test_name_that_cannot_be_had_is_refused(case: str) -> None:
    extras, index = UNUSABLE_NAMES[case]
    with pytest.raises(InvalidSpec) as error:
        desired(*extras)
    assert error.value.field == f"spec.extraResources{index}.metadata.name"


def test_fault_in_a_plans_object_names_the_plan() -> None:
    plans = plans_with(extra(data={"user": "${tenant.labels[kleff.io/tenant-username]}"}))
    with pytest.raises(InvalidSpec) as error:
        desired(plans=plans)
    assert error.value.field == "plans.basic.extraResources[0].data.user"
    assert "namespace 'tenant-acme' has no value for ${tenant.labels[kleff.io/tenant-username]}" in str(
        error.value
    )


def test_tenant_may_not_take_the_name_of_a_plans_object() -> None:
    with pytest.raises(InvalidSpec) as error:
        desired(extra(), plans=plans_with(extra()))
    assert error.value.field == "spec.extraResources[0].metadata.name"
