"""Specs by an attacker who may write Tenants, but who is not a cluster administrator."""

from typing import Any

import pytest

from tenancy.base.errors import InvalidSpec, NamespaceTaken, PlansError
from tenancy.base.labels import ADOPTION_ANNOTATION, object_labels
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.decision import Facts, decide
from tenancy.plans import SHIPPED_PLANS, plans_from_text, read_plans
from tests.platform import tenant_manifest

PLANS = read_plans()
SIGNATURE = "4dabf18193072939515e22adb298388d"
# The value that marks an asset in Pulumi's encoding.
ASSET = "c44067f5952c0a294b673a41bacd8c17"


def config_map(name: str = "settings", **data: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.mark.parametrize(
    "namespace", ["kube-system", "argocd", "ingress-nginx", "calico-system", "rook-ceph", "tenancy-system"]
)
@pytest.mark.parametrize("is_read", [True, False])
def test_reserved_namespace_is_never_adopted(namespace: str, is_read: bool) -> None:
    """Neither labels nor a status prove that the tenant owns a reserved namespace.

    If the Tenant's status contains a namespace, callers of `decide` do not read this namespace.
    """
    spec: dict[str, Any] = {"adopt": True, "namespaces": [{"name": "x", "existing": namespace}]}
    key = ObjectKey("Namespace", "", namespace)
    metadata = {"name": namespace, "labels": object_labels("thief")}
    live = {key: {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}} if is_read else {}
    with pytest.raises(NamespaceTaken, match="is reserved for Kubernetes or the platform") as error:
        decide(tenant_manifest("thief", **spec), Facts(PLANS, holders={namespace: "thief"}, live=live))
    assert error.value.field == "spec.namespaces[0].existing"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"extraResources": [config_map(file={SIGNATURE: ASSET, "path": "/etc/passwd"})]}, "data.file"),
        ({"extraResources": [config_map(**{SIGNATURE: ASSET, "path": "/etc/passwd"})]}, "data"),
        ({"nodeSelector": {SIGNATURE: "a"}}, "nodeSelector"),
        ({"network": {"monitoring": {SIGNATURE: "a"}}}, "network.monitoring"),
        ({"displayName": f"a {SIGNATURE}"}, "displayName"),
    ],
)
def test_signature_of_pulumi_is_rejected_anywhere_in_a_spec(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSpec, match=f"must not contain {SIGNATURE}") as error:
        decide(tenant_manifest("asset", **spec), Facts(PLANS))
    assert any(field in rejection.field for rejection in error.value.each)


def test_signature_of_pulumi_is_not_completed_by_a_placeholder() -> None:
    name, rest = SIGNATURE[-8:], SIGNATURE[:-8]
    spec: dict[str, Any] = {"extraResources": [config_map(**{f"{rest}${{tenant.name}}": ASSET})]}
    with pytest.raises(InvalidSpec, match=f"must not contain {SIGNATURE}"):
        decide(tenant_manifest(name, **spec), Facts(PLANS))


def test_signature_of_pulumi_is_rejected_in_a_plan() -> None:
    text = SHIPPED_PLANS.read_text(encoding="utf-8").replace(
        "env: {MODEL: standard}", f"env: {{A: {SIGNATURE}}}"
    )
    with pytest.raises(
        PlansError, match=rf"sessions\.models\.standard\.env\.A: must not contain {SIGNATURE}"
    ):
        plans_from_text(text)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"adminUsers": ["system:anonymous"]}, "spec.adminUsers[0]"),
        ({"rbacConfig": {"users": ["system:anonymous"]}}, "spec.rbacConfig.users[0]"),
        ({"rbacConfig": {"groups": ["system:authenticated"]}}, "spec.rbacConfig.groups[0]"),
        ({"access": [{"kind": "Group", "name": "system:serviceaccounts:other"}]}, "spec.access[0].name"),
        ({"access": [{"kind": "User", "name": "system:anonymous"}]}, "spec.access[0].name"),
    ],
)
def test_everybody_is_no_subject(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSpec, match="users of other tenants") as error:
        decide(tenant_manifest("open", **spec), Facts(PLANS))
    assert error.value.field == field


@pytest.mark.parametrize("annotation", ["", "somebody-else"])
def test_namespace_is_adopted_only_with_its_annotation(annotation: str) -> None:
    spec: dict[str, Any] = {"adopt": True, "namespaces": [{"name": "x", "existing": "payments"}]}
    manifest, key = tenant_manifest("adopter", **spec), ObjectKey("Namespace", "", "payments")

    def live(value: str) -> Manifest:
        metadata = {"name": "payments", "annotations": {ADOPTION_ANNOTATION: value} if value else {}}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    command = f"kubectl annotate namespace payments {ADOPTION_ANNOTATION}=adopter"
    with pytest.raises(NamespaceTaken, match=command):
        decide(manifest, Facts(PLANS, live={key: live(annotation)}))
    decide(manifest, Facts(PLANS, live={key: live("adopter")}))


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


SURROGATE = "\ud800"
LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    ("spec", "field", "problem"),
    [
        pytest.param(
            {"extraResources": [config_map(a=nested(5000))]}, ".data.a.a.a", "nested too", id="deep"
        ),
        pytest.param({"displayName": SURROGATE}, "spec.displayName", "valid Unicode", id="half a character"),
        pytest.param(
            {"nodeSelector": {SURROGATE: "a"}}, "spec.nodeSelector", "valid Unicode", id="half in a key"
        ),
        pytest.param(
            {"adopt": True, "namespaces": [{"name": "a", "existing": "tenant-hostile-b"}, {"name": "b"}]},
            "spec.namespaces[1].name",
            "namespace 'tenant-hostile-b' is given twice",
            id="namespace twice",
        ),
        pytest.param(
            {"network": {"egress": [{"cidr": "fe80::1%eth0/128"}]}}, "egress[0].cidr", "no zone", id="zone"
        ),
        pytest.param({"resourceQuotas": {"cpu": 10**5000}}, "resourceQuotas.cpu", "2^63-1", id="5000 digits"),
        pytest.param(
            {"extraResources": [config_map(a=LONG * 2)]}, "extraResources[0]", "at most 1048576", id="2 MB"
        ),
        pytest.param({"extraResources": [config_map(LONG)]}, "metadata.name", "valid object name", id="name"),
    ],
)
def test_unusable_value_is_rejected_with_its_field(spec: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(InvalidSpec) as error:
        decide(tenant_manifest("hostile", **spec), Facts(PLANS))
    [rejection] = error.value.each
    assert field in rejection.field
    assert problem in rejection.problem


def test_long_value_is_shortened_in_the_message() -> None:
    template = {"apiVersion": LONG, "kind": "ConfigMap", "metadata": {"name": "a"}, LONG: 5}
    with pytest.raises(InvalidSpec) as error:
        decide(tenant_manifest("hostile", extraResources=[template, template]), Facts(PLANS))
    assert len(str(error.value)) < 5000
    assert "is not allowed; allowed kinds: ConfigMap" in str(error.value)


def test_rules_with_many_combinations_are_checked_in_linear_time() -> None:
    """Each rule has 64 API groups, 64 resources and 64 verbs.

    A check of all combinations would take hours.
    """
    rule = {
        "apiGroups": [f"g{number}.example" for number in range(64)],
        "resources": [f"r{number}" for number in range(64)],
        "verbs": ["get", "update"] * 32,
    }
    roles = {"admin": [rule] * 32, "viewer": [rule] * 31 + [{**rule, "verbs": ["get", "delete"]}]}
    with pytest.raises(InvalidSpec, match=r"spec\.roles\.viewer\[31\]\.verbs: 'delete' on 'r0'"):
        decide(tenant_manifest("hostile", roles=roles), Facts(PLANS))
