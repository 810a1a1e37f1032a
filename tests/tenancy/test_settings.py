"""Effective settings: the settings of a tenant override the settings of its plan, field by field."""

from typing import Any

from tenancy.plans import Plan
from tenancy.spec.effective_settings import effective_settings, settings_from_plan
from tenancy.spec.settings import PodSecurity, QuotaScope, TenantSettings
from tenancy.spec.tenant import TenantSpec

QUOTA = {"name": "q", "hard": {"cpu": "1"}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}


def merged(plan: dict[str, Any], tenant: dict[str, Any]) -> TenantSettings:
    required = {"maxNamespaces": 3, "quotas": [QUOTA], "limits": {"max": {"cpu": "1"}}}
    return effective_settings(Plan.model_validate({**required, **plan}), TenantSpec.model_validate(tenant))


def test_what_nobody_sets_is_the_products_default() -> None:
    settings = merged({}, {})
    assert settings.pod_security is PodSecurity.RESTRICTED
    assert settings.quota_scope is QuotaScope.NAMESPACE
    assert (settings.registries, settings.hostnames, settings.protected) == (None, (), False)


def test_what_the_tenant_leaves_out_is_the_plans() -> None:
    settings = merged({"podSecurity": "baseline", "protected": True, "registries": ["a.example"]}, {})
    assert (settings.max_namespaces, settings.pod_security) == (3, PodSecurity.BASELINE)
    assert (settings.protected, settings.registries) == (True, ("a.example",))


def test_what_the_tenant_sets_stands_instead_of_the_plans() -> None:
    settings = merged(
        {"protected": True, "registries": ["a.example"]}, {"protected": False, "registries": []}
    )
    assert (settings.protected, settings.registries) == (False, ())


def test_network_is_laid_over_part_by_part() -> None:
    plan = {"network": {"monitoring": {"a": "b"}, "egress": [{"cidr": "192.0.2.0/24"}]}}
    network = merged(plan, {"network": {"egress": [{"cidr": "198.51.100.0/24"}]}}).network
    assert network.monitoring == {"a": "b"}
    assert [addresses.cidr for addresses in network.egress or ()] == ["198.51.100.0/24"]


def test_quotas_are_replaced_by_name_and_others_added() -> None:
    own = [{"name": "q", "hard": {"cpu": "9"}}, {"name": "mine", "hard": {"pods": 1}}]
    quotas = merged({"quotas": [QUOTA, {"name": "r", "hard": {"pods": 5}}]}, {"quotas": own}).quotas
    assert [(quota.name, quota.hard) for quota in quotas] == [
        ("q", {"cpu": "9"}),
        ("r", {"pods": "5"}),
        ("mine", {"pods": "1"}),
    ]


def test_extra_objects_add_up() -> None:
    plan, own = ({"extraResources": [{**CONFIG, "metadata": {"name": name}}]} for name in ("a", "b"))
    assert [extra["metadata"]["name"] for extra in merged(plan, own).extra_resources] == ["a", "b"]


def test_rules_of_a_tenant_stand_instead_of_the_plans_for_that_role_alone() -> None:
    rule = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}
    settings = merged({"roles": {"admin": [rule], "viewer": [rule]}}, {"roles": {"viewer": []}})
    assert len(settings.roles.of("admin")) == 1
    assert settings.roles.of("viewer") == ()


def test_settings_from_the_plan_are_those_that_the_tenant_does_not_set() -> None:
    plan = Plan.model_validate(
        {
            "maxNamespaces": 2,
            "quotas": [QUOTA, {"name": "own", "hard": {"cpu": 1}}],
            "limits": {},
            "registries": [],
            "network": {"monitoring": {"a": "b"}, "ingressController": {"c": "d"}},
            "istio": {"enabled": True},
        }
    )
    spec = TenantSpec.model_validate(
        {
            "maxNamespaces": 1,
            "quotas": [{"name": "own", "hard": {"cpu": 2}}],
            "network": {"monitoring": {"x": "y"}},
            "istio": {"enabled": False},
        }
    )
    assert settings_from_plan(plan, spec) == {
        "limits": {"defaultRequest": {}, "default": {}, "max": {}},
        "network": {"ingressController": {"c": "d"}},
        "quotas": [{"name": "q", "hard": {"cpu": "1"}}],
        "registries": [],
    }
