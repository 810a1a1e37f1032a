"""The objects of Gatekeeper, Istio and HNC that a tenant gets."""

from typing import Any

import pytest

from tenancy.base.errors import InvalidSpec
from tenancy.base.kinds import INTEGRATION_KINDS, kind_of
from tenancy.base.labels import object_labels
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.desired import DesiredState, desired_state
from tenancy.drift import object_drift, repair_patch
from tenancy.objects.hnc import without_hnc_propagation
from tenancy.objects.integrations import ALL_INTEGRATION_KINDS, ServedKinds
from tenancy.plans import read_plans
from tenancy.platform.constraint_templates import constraint_templates, hnc_configuration
from tenancy.spec.tenant import tenant_from_manifest

NAMESPACES = [{"name": "web"}, {"name": "data"}]
WEB, DATA = "tenant-acme-web", "tenant-acme-data"
ALL: dict[str, Any] = {
    "plan": "pro",
    "namespaces": NAMESPACES,
    "hostnames": ["shop.acme.test", "*.acme.test"],
    "registries": ["registry.example.test"],
    "istio": {"enabled": True},
    "gatekeeper": {"enabled": True},
    "hnc": {"enabled": True},
}


def desired(served: ServedKinds = ALL_INTEGRATION_KINDS, **spec: Any) -> DesiredState:
    manifest = {"metadata": {"name": "acme"}, "spec": spec}
    return desired_state(tenant_from_manifest(manifest), read_plans(), served)


def objects_of(integration: str, **spec: Any) -> dict[tuple[str, str, str], Manifest]:
    """The objects of one integration, keyed by kind, namespace and name."""
    kinds = {kind.key: kind.kind for kind in INTEGRATION_KINDS[integration]}
    return {
        (kinds[key.kind], key.namespace, key.name): manifest
        for key, manifest in desired(**spec).by_key.items()
        if key.kind in kinds
    }


def test_nothing_is_made_of_what_is_not_enabled() -> None:
    disabled = {name: {"enabled": False} for name in ("istio", "gatekeeper", "hnc")}
    for spec in ({}, disabled):
        state = desired(**(ALL | {"istio": {}, "gatekeeper": {}, "hnc": {}} | spec))
        assert not any(kind_of(manifest) in ALL_INTEGRATION_KINDS for manifest in state.manifests)
        assert not state.missing


def test_every_object_is_marked_as_the_tenants() -> None:
    for manifest in desired(**ALL).manifests:
        labels = manifest["metadata"]["labels"]
        assert object_labels("acme").items() <= labels.items()


def test_objects_do_not_depend_on_the_order_of_namespaces() -> None:
    reordered_spec = {**ALL, "namespaces": NAMESPACES[::-1], "hnc": {"enabled": True, "parent": "web"}}
    original, reordered = (
        {key: value for name in INTEGRATION_KINDS for key, value in objects_of(name, **spec).items()}
        for spec in (ALL, reordered_spec)
    )
    for key in original.keys() & reordered.keys():
        assert original[key] == reordered[key]
    # Only the Gateway depends on the order, because it is in the first namespace.
    assert original.keys() ^ reordered.keys() == {
        ("Gateway", WEB, "tenant-gateway"),
        ("Gateway", DATA, "tenant-gateway"),
    }


def test_kinds_that_the_cluster_lacks_are_named_and_left_out() -> None:
    state = desired(INTEGRATION_KINDS["Istio"][1:], **ALL)
    assert state.missing == {
        "Gatekeeper": (
            "tenantimageregistries.constraints.gatekeeper.sh",
            "tenantpodsecurity.constraints.gatekeeper.sh",
        ),
        "Istio": ("gateways.networking.istio.io",),
        "HNC": ("hierarchyconfigurations.hnc.x-k8s.io",),
    }
    kinds = {key.kind for key in state.by_key}
    assert "Sidecar.networking.istio.io" in kinds
    assert "Gateway.networking.istio.io" not in kinds


# Gatekeeper


def test_constraints_hold_the_tenants_pods_in_its_namespaces_only() -> None:
    constraints = objects_of("Gatekeeper", **ALL)
    assert list(constraints) == [
        ("TenantImageRegistries", "", "tenant-acme"),
        ("TenantPodSecurity", "", "tenant-acme"),
    ]
    for constraint in constraints.values():
        assert constraint["spec"]["enforcementAction"] == "deny"
        assert constraint["spec"]["match"] == {
            "kinds": [{"apiGroups": [""], "kinds": ["Pod"]}],
            "namespaces": [DATA, WEB],
        }
    registries, security = (constraint["spec"]["parameters"] for constraint in constraints.values())
    assert registries == {"registries": ["registry.example.test"]}
    assert security == {"level": "restricted"}


@pytest.mark.parametrize(
    ("spec", "kinds"),
    [
        ({}, ["TenantPodSecurity"]),
        ({"registries": []}, ["TenantImageRegistries", "TenantPodSecurity"]),
        ({"podSecurity": "baseline"}, ["TenantPodSecurity"]),
        ({"podSecurity": "privileged"}, []),
    ],
)
def test_constraint_is_made_only_where_something_is_forbidden(spec: dict[str, Any], kinds: list[str]) -> None:
    constraints = objects_of("Gatekeeper", gatekeeper={"enabled": True}, **spec)
    assert [kind for kind, _, _ in constraints] == kinds


def test_each_kind_of_constraint_has_its_template() -> None:
    for template, kind in zip(constraint_templates(), INTEGRATION_KINDS["Gatekeeper"], strict=True):
        assert template["metadata"]["name"] == kind.plural == kind.kind.lower()
        assert template["spec"]["crd"]["spec"]["names"]["kind"] == kind.kind
        [target] = template["spec"]["targets"]
        assert f"package {kind.plural}\n" in target["code"][0]["source"]["rego"]


# Istio


def test_each_namespace_is_strict_and_lets_only_the_tenant_and_the_gateway_in() -> None:
    objects = objects_of("Istio", **ALL)
    for namespace in (WEB, DATA):
        assert objects["PeerAuthentication", namespace, "default"]["spec"] == {"mtls": {"mode": "STRICT"}}
        assert objects["AuthorizationPolicy", namespace, "tenant-isolation"]["spec"] == {
            "action": "ALLOW",
            "rules": [{"from": [{"source": {"namespaces": [DATA, WEB, "istio-system"]}}]}],
        }
        assert objects["Sidecar", namespace, "default"]["spec"] == {
            "egress": [
                {"hosts": ["./*", f"{DATA}/*", f"{WEB}/*", "platform-shared/*", "istio-system/*"]},
            ]
        }
    assert len(objects) == 7


def test_gateway_takes_routes_for_the_tenants_hosts_from_its_namespaces_only() -> None:
    gateway = objects_of("Istio", **ALL)["Gateway", WEB, "tenant-gateway"]["spec"]
    hosts = [f"{DATA}/shop.acme.test", f"{WEB}/shop.acme.test", f"{DATA}/*.acme.test", f"{WEB}/*.acme.test"]
    assert gateway == {
        "selector": {"istio": "ingressgateway"},
        "servers": [{"port": {"number": 80, "name": "http", "protocol": "HTTP"}, "hosts": hosts}],
    }


def test_gateway_with_a_certificate_serves_https_and_sends_http_there() -> None:
    istio = {
        "enabled": True,
        "tlsSecret": "acme-tls",
        "gatewaySelector": {"app": "edge"},
        "gatewayNamespace": "edge",
    }
    objects = objects_of("Istio", **ALL | {"istio": istio})
    gateway = objects["Gateway", WEB, "tenant-gateway"]["spec"]
    http, https = gateway["servers"]
    assert gateway["selector"] == {"app": "edge"}
    assert http["tls"] == {"httpsRedirect": True}
    assert https["port"] == {"number": 443, "name": "https", "protocol": "HTTPS"}
    assert https["tls"] == {"mode": "SIMPLE", "credentialName": "acme-tls"}
    assert https["hosts"] == http["hosts"]
    policy = objects["AuthorizationPolicy", WEB, "tenant-isolation"]["spec"]
    assert policy["rules"][0]["from"][0]["source"]["namespaces"] == [DATA, WEB, "edge"]


def test_tenant_without_hosts_has_no_gateway() -> None:
    assert "Gateway" not in {kind for kind, _, _ in objects_of("Istio", istio={"enabled": True})}


# HNC


@pytest.mark.parametrize(("parent", "root", "child"), [(None, WEB, DATA), ("data", DATA, WEB)])
def test_namespaces_form_a_tree_below_the_parent(parent: str | None, root: str, child: str) -> None:
    objects = objects_of("HNC", namespaces=NAMESPACES, hnc={"enabled": True, "parent": parent})
    assert objects["HierarchyConfiguration", child, "hierarchy"]["spec"] == {"parent": root}
    assert objects["HierarchyConfiguration", root, "hierarchy"]["spec"] == {}


def test_what_is_slipped_into_the_roots_hierarchy_is_drift_and_is_taken_back() -> None:
    key = ObjectKey("HierarchyConfiguration.hnc.x-k8s.io", WEB, "hierarchy")
    root = desired(**ALL).by_key[key]
    for live_spec in ({"parent": "tenant-other"}, {"allowCascadingDeletion": True}):
        live = {**root, "spec": live_spec}
        assert object_drift(root, live) == f"spec.{next(iter(live_spec))} changed"
        assert repair_patch(root, live) == {"spec": dict.fromkeys(live_spec)}


@pytest.mark.parametrize("spec", [{"namespaces": NAMESPACES}, {}])
def test_unknown_parent_is_refused_by_its_field(spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpec, match=r"there is no namespace 'nowhere' in spec\.namespaces") as error:
        desired(hnc={"enabled": True, "parent": "nowhere"}, **spec)
    assert error.value.field == "spec.hnc.parent"


def test_roles_and_bindings_stay_where_they_are_in_a_tree() -> None:
    for is_enabled in (True, False):
        has_annotation = {
            "propagate.hnc.x-k8s.io/none" in manifest["metadata"].get("annotations", {})
            for manifest in desired(hnc={"enabled": is_enabled}).manifests
            if manifest["kind"] in ("Role", "RoleBinding")
        }
        assert has_annotation == {is_enabled}


def test_staying_object_keeps_its_own_annotations() -> None:
    manifest = {"metadata": {"name": "x", "annotations": {"a": "b"}}}
    annotated = without_hnc_propagation(manifest)
    assert annotated["metadata"]["annotations"] == {"a": "b", "propagate.hnc.x-k8s.io/none": "true"}
    assert manifest["metadata"]["annotations"] == {"a": "b"}


def test_hnc_copies_nothing_by_itself_and_is_not_told_what_it_refuses() -> None:
    resources = hnc_configuration()["spec"]["resources"]
    assert {entry["resource"]: entry["mode"] for entry in resources} == {
        "configmaps": "AllowPropagate",
        "secrets": "AllowPropagate",
    }
