"""Extra objects: what may be one, what is filled in, and how a bad one is told by its field."""

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


def made(name: str = "x", kind: str = "ConfigMap", *, of: DesiredState) -> Manifest:
    return of.by_key[ObjectKey(kind, of.namespaces[0], name)]


def test_facts_of_the_tenant_are_filled_in_each_namespace() -> None:
    facts = ("name", "namespace", "purpose", "plan", "labels[kleff.io/tenant-username]")
    text = " ".join(f"${{tenant.{fact}}}" for fact in facts)
    state = desired(
        {
            **extra(name="${tenant.name}-facts", data={"${tenant.name}.txt": text}),
            "metadata": {"name": "${tenant.name}-facts", "labels": {"of-${tenant.name}": "${tenant.plan}"}},
        },
        username="joe",
        namespaces=[{"name": "a", "purpose": "staging"}, {"name": "b"}],
    )
    a, b = (state.by_key[ObjectKey("ConfigMap", f"tenant-acme-{home}", "acme-facts")] for home in ("a", "b"))
    assert a["data"] == {"acme.txt": "acme tenant-acme-a staging basic joe"}
    assert b["data"] == {"acme.txt": "acme tenant-acme-b development basic joe"}
    assert a["metadata"]["labels"] == {
        "of-acme": "basic",
        "tenant.platform.ai/name": "acme",
        "tenant.platform.ai/managed": "true",
    }


def test_namespace_without_a_purpose_is_for_development() -> None:
    assert made(of=desired(extra(data={"p": "${tenant.purpose}"})))["data"] == {"p": "development"}


def test_dollars_of_other_people_are_left_alone() -> None:
    script = "echo ${HOME} $tenant ${tenant} $${x} $(date) ${tenants.name}"
    assert made(of=desired(extra(data={"run.sh": script})))["data"] == {"run.sh": script}


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
    assert made(kind="NetworkPolicy", of=state)["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [],
        "egress": [{"to": [peer], "ports": [{"protocol": "TCP", "port": 80}]}],
    }
    assert made(kind="Service", of=state)["spec"]["type"] == "ClusterIP"
    assert made(kind="ResourceQuota", of=state)["spec"]["hard"] == {"cpu": "1", "memory": "1Gi"}


# What is wrong by itself: the object, the field below it, and what is told.
BAD: dict[str, tuple[Manifest, str, str]] = {
    "a kind that holds secrets": (extra("Secret"), "kind", "allowed are ConfigMap (v1), ServiceAccount (v1)"),
    "a kind that gives rights": (
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
    "an owner": (
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
    "a name made up by the API server": (
        {**extra(), "metadata": {"generateName": "x"}},
        "metadata.generateName",
        "no such field here (and 1 more)",
    ),
    "a reserved label": (
        {**extra(), "metadata": {"name": "x", "labels": {"tenant.platform.ai/name": "other"}}},
        "metadata.labels",
        "reserved",
    ),
    "an annotation that steers Pulumi": (
        {**extra(), "metadata": {"name": "x", "annotations": {"pulumi.com/waitFor": "x"}}},
        "metadata.annotations",
        "reserved",
    ),
    "a status": (extra(status={}), "status", "no such field"),
    "data that is no text": (extra(data={"a": {}}), "data.a", "string"),
    "an unknown placeholder": (
        extra(data={"a": "${tenant.nam}"}),
        "data.a",
        "there is no ${tenant.nam}; known: ${tenant.name}",
    ),
    "a placeholder that is not closed": (extra(data={"a": "${tenant.name"}), "data.a", "there is no"),
    "a node's port": (extra("Service", spec={"type": "NodePort"}), "spec.type", "ClusterIP"),
    "a foreign address": (
        extra("Service", spec={"externalIPs": ["192.0.2.1"]}),
        "spec.externalIPs",
        "0 items",
    ),
    "a quantity that is none": (
        extra("ResourceQuota", spec={"hard": {"cpu": "lots"}}),
        "spec.hard.cpu",
        "not a Kubernetes quantity",
    ),
    "a policy for everybody": (policy(ingress=[{}]), "spec.ingress[0].from", "required"),
    "a policy for all namespaces": (
        policy(ingress=[{"from": [{"namespaceSelector": {"matchLabels": {}}}]}]),
        "spec.ingress[0].from[0].namespaceSelector",
        "select everything",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_object_is_refused_by_its_field_in_a_tenant_and_in_a_plan(case: str) -> None:
    manifest, field, told = BAD[case]
    with pytest.raises(InvalidSpec) as refusal:
        desired(extra(name="good"), manifest)
    assert refusal.value.field == f"spec.extraResources[1].{field}"
    assert told in str(refusal.value)
    with pytest.raises(PlansError) as refused_plan:
        plans_with(extra(name="good"), manifest)
    assert f"plans.basic.extraResources[1].{field}: " in str(refused_plan.value)


# What is only wrong for this tenant.
TAKEN: dict[str, tuple[Extras, str]] = {
    "a quota of the product": ([extra("ResourceQuota", "tenant-quota", spec={"hard": {"cpu": 1}})], "[0]"),
    "the product's limits": (
        [extra("LimitRange", "tenant-limits", spec={"limits": [{"type": "Pod"}]})],
        "[0]",
    ),
    "a wall": (
        [{**policy(), "metadata": {"name": "default-deny-all"}}],
        "[0]",
    ),
    "a name given twice": ([extra(), extra()], "[1]"),
    "a name that is the same once filled in": ([extra(name="acme"), extra(name="${tenant.name}")], "[1]"),
    "no name once filled in": ([extra(name="-${tenant.name}")], "[0]"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_name_that_cannot_be_had_is_refused(case: str) -> None:
    extras, index = TAKEN[case]
    with pytest.raises(InvalidSpec) as refusal:
        desired(*extras)
    assert refusal.value.field == f"spec.extraResources{index}.metadata.name"


def test_fault_in_a_plans_object_names_the_plan() -> None:
    plans = plans_with(extra(data={"user": "${tenant.labels[kleff.io/tenant-username]}"}))
    with pytest.raises(InvalidSpec) as refusal:
        desired(plans=plans)
    assert refusal.value.field == "plans.basic.extraResources[0].data.user"
    assert "namespace 'tenant-acme' has nothing for ${tenant.labels[kleff.io/tenant-username]}" in str(
        refusal.value
    )


def test_tenant_may_not_take_the_name_of_a_plans_object() -> None:
    with pytest.raises(InvalidSpec) as refusal:
        desired(extra(), plans=plans_with(extra()))
    assert refusal.value.field == "spec.extraResources[0].metadata.name"
