"""A preview warns about changes that delete objects or allow more access.

It does not warn about other changes.
"""

from typing import Any

import pytest

from cli.preview.findings.finding import (
    RULE_DESCRIPTIONS,
    Finding,
    Rule,
    Severity,
    rule_for_reason,
    severity_of,
)
from cli.preview.findings.warnings import change_warnings, deletion_warning
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.changes import object_changes
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest

Objects = dict[ObjectKey, Manifest]
_TWO = [{"name": "dev"}, {"name": "prod"}]
_BLOCK = {"cidr": "203.0.113.0/24", "except": ["203.0.113.64/26"], "ports": [{"port": 443, "endPort": 445}]}


def desired(**spec: Any) -> DesiredState:
    return desired_state(tenant_from_manifest({"metadata": {"name": "acme"}, "spec": spec}), read_plans())


def findings(
    before: DesiredState | Objects, after: DesiredState, was_protected: bool = False
) -> list[Finding]:
    objects = dict(before.by_key) if isinstance(before, DesiredState) else before
    return list(change_warnings(after, object_changes(after, objects), objects, was_protected))


def rules(before: DesiredState | Objects, after: DesiredState) -> list[Rule]:
    return [finding.rule for finding in findings(before, after)]


def network(**fields: Any) -> DesiredState:
    return desired(network=fields)


def test_a_new_tenant_has_no_warnings() -> None:
    assert (
        findings({}, desired(adminUsers=["alice"], network={"egress": [_BLOCK]}, podSecurity="baseline"))
        == []
    )


def test_no_change_has_no_warnings() -> None:
    assert findings(desired(adminUsers=["alice"]), desired(adminUsers=["alice"])) == []


def test_a_removed_namespace_is_a_warning_and_a_retained_one_a_note() -> None:
    both = desired(namespaces=_TWO)
    (gone,) = findings(both, desired(namespaces=_TWO[:1]))
    assert (gone.rule, gone.severity) == (Rule.NAMESPACE_REMOVED, Severity.WARNING)
    assert gone.object == "Namespace tenant-acme-prod"
    (kept,) = findings(both, desired(namespaces=_TWO[:1], deletionPolicy="Retain"))
    assert (kept.rule, kept.severity) == (Rule.NAMESPACE_RELEASED, Severity.NOTE)


def test_a_deleted_tenant_is_a_warning_that_says_what_becomes_of_its_namespaces() -> None:
    before = dict(desired(namespaces=_TWO).by_key)
    gone = deletion_warning("acme", object_changes(DesiredState("acme", ()), before))
    assert gone.rule is Rule.TENANT_DELETED
    assert gone.message == (
        "the tenant is deleted with its namespaces and everything in them: tenant-acme-dev, tenant-acme-prod"
    )
    kept = deletion_warning("acme", object_changes(DesiredState("acme", (), retains=True), before))
    assert "its namespaces stay with their workloads (deletionPolicy: Retain)" in kept.message


def quota_in_use(state: DesiredState, **used: str) -> Objects:
    key = ObjectKey("ResourceQuota", "tenant-acme", "tenant-quota")
    return {**state.by_key, key: {**state.by_key[key], "status": {"used": used}}}


def test_a_quota_lowered_below_its_use_is_a_warning() -> None:
    before = quota_in_use(desired(resourceQuotas={"cpu": "4"}), cpu="1500m", pods="3")
    (low,) = findings(before, desired(resourceQuotas={"cpu": "1"}))
    assert low.rule is Rule.QUOTA_BELOW_USE
    assert low.object == "ResourceQuota tenant-acme/tenant-quota"
    assert low.message.startswith("cpu in tenant-acme is lowered from 4 to 1, but 1500m is used")


def test_a_quota_that_is_raised_or_still_above_its_use_is_no_warning() -> None:
    before = quota_in_use(desired(resourceQuotas={"cpu": "4"}), cpu="5")
    assert findings(before, desired(resourceQuotas={"cpu": "4500m"})) == []
    before = quota_in_use(desired(resourceQuotas={"cpu": "4"}), cpu="1")
    assert findings(before, desired(resourceQuotas={"cpu": "1"})) == []


def test_a_new_subject_and_a_higher_role_are_warnings_told_once_for_all_namespaces() -> None:
    viewer, operator = ({"kind": "User", "name": "eve", "role": role} for role in ("viewer", "operator"))
    nobody, low, high = (desired(namespaces=_TWO, access=access) for access in ([], [viewer], [operator]))
    (gain,) = findings(nobody, low)
    assert gain.rule is Rule.ACCESS_WIDENED
    assert gain.message == "User eve becomes viewer, in tenant-acme-dev, tenant-acme-prod"
    (rise,) = findings(low, high)
    assert rise.message.startswith("User eve becomes operator, was viewer")
    assert findings(high, low) == []
    assert findings(high, nobody) == []


def test_who_has_a_role_gains_nothing_by_a_new_namespace() -> None:
    accounts = {"serviceAccounts": ["deployer"]}
    before = desired(namespaces=_TWO[:1], adminUsers=["alice"], rbacConfig=accounts)
    after = desired(namespaces=_TWO, adminUsers=["alice"], rbacConfig=accounts)
    assert findings(before, after) == []
    only_there = {"kind": "User", "name": "eve", "role": "viewer", "namespaces": ["prod"]}
    assert rules(before, desired(namespaces=_TWO, adminUsers=["alice"], access=[only_there])) == [
        Rule.ACCESS_WIDENED
    ]


def test_a_role_that_gains_rules_is_a_warning_and_the_same_rights_written_otherwise_are_none() -> None:
    def more(*rules: Any) -> DesiredState:
        return desired(roles={"admin": list(rules)})

    wide = {"apiGroups": ["example.com"], "resources": ["widgets", "gadgets"], "verbs": ["get", "list"]}
    (gain,) = findings(more(wide), more(wide, {**wide, "resources": ["gizmos"]}))
    assert gain.message == "role tenant-admin may get, list gizmos.example.com, in tenant-acme"
    parts = [{**wide, "resources": [name]} for name in wide["resources"]]
    assert findings(more(wide), more(*parts)) == []
    assert rules(more({**wide, "resourceNames": ["one"]}), more(wide)) == [Rule.ACCESS_WIDENED] * 2


def test_a_new_peer_is_a_warning() -> None:
    (gain,) = findings(network(), network(egress=[_BLOCK]))
    assert gain.rule is Rule.ISOLATION_WIDENED
    assert gain.object == "NetworkPolicy tenant-acme/allow-egress"
    message = "pods may reach 203.0.113.0/24 except 203.0.113.64/26 on TCP 443-445, in tenant-acme"
    assert gain.message == message
    (let_in,) = findings(network(), network(monitoring={"team": "metrics"}))
    assert let_in.message == "pods accept traffic from namespaceSelector team=metrics, in tenant-acme"


@pytest.mark.parametrize(
    "wider",
    [
        {"cidr": "203.0.112.0/23"},
        {"except": []},
        {"except": ["203.0.113.128/26"]},
        {"ports": []},
        {"ports": [{"port": 443, "endPort": 446}]},
        {"ports": [{"port": 443, "protocol": "UDP"}]},
        {"cidr": "2001:db8::/32", "except": []},
    ],
)
def test_a_wider_block_is_a_warning_and_the_way_back_is_none(wider: dict[str, Any]) -> None:
    before, after = network(egress=[_BLOCK]), network(egress=[{**_BLOCK, **wider}])
    assert set(rules(before, after)) == {Rule.ISOLATION_WIDENED}
    assert rules(network(egress=[_BLOCK, {**_BLOCK, **wider}]), before) == []


@pytest.mark.parametrize(
    "narrower",
    [
        {"cidr": "203.0.113.0/26", "except": []},
        {"ports": [{"port": 444}]},
        {"except": ["203.0.113.0/25"]},
    ],
)
def test_a_narrower_block_is_no_warning(narrower: dict[str, Any]) -> None:
    assert findings(network(egress=[_BLOCK]), network(egress=[{**_BLOCK, **narrower}])) == []


def test_lower_pod_security_is_a_warning_also_in_a_namespace_that_is_adopted() -> None:
    strict, loose = desired(podSecurity="restricted"), desired(podSecurity="baseline")
    (low,) = findings(strict, loose)
    assert low.message == "pod security is lowered from restricted to baseline, in tenant-acme"
    assert findings(loose, strict) == []
    theirs = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "tenant-acme", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    adopted = findings({ObjectKey("Namespace", "", "tenant-acme"): theirs}, loose)
    assert [finding.rule for finding in adopted] == [Rule.NAMESPACE_ADOPTED, Rule.POD_SECURITY_LOWERED]


def test_protection_taken_away_is_a_warning() -> None:
    (gone,) = findings(desired(protected=True), desired(protected=False), was_protected=True)
    assert gone.rule is Rule.PROTECTION_REMOVED
    assert findings(desired(protected=True), desired(protected=True), was_protected=True) == []


def test_every_rule_has_a_meaning_and_every_reason_a_rule() -> None:
    assert set(RULE_DESCRIPTIONS) == set(Rule)
    assert rule_for_reason("NamespaceTaken") is Rule.NAMESPACE_TAKEN
    assert severity_of(Rule.NAMESPACE_TAKEN) is Severity.ERROR


@pytest.mark.parametrize(
    ("before", "after", "messages"),
    [
        (
            {"serviceTypes": ["ClusterIP"]},
            {"serviceTypes": ["ClusterIP", "LoadBalancer"]},
            ["more service types are allowed: LoadBalancer, in tenant-acme"],
        ),
        ({"registries": ["a.example"]}, {}, ["all image registries are allowed, in tenant-acme"]),
        (
            {"registries": []},
            {"registries": ["b.example"]},
            ["more image registries are allowed: b.example, in tenant-acme"],
        ),
        ({"registries": ["a.example"]}, {"registries": ["a.example/team"]}, []),
        ({}, {"registries": ["a.example"]}, []),
        ({"hostnames": ["*.a.example"]}, {"hostnames": ["x.a.example"]}, []),
        (
            {"hostnames": ["x.a.example"]},
            {"hostnames": ["*.a.example"]},
            ["more host names are allowed: *.a.example, in tenant-acme"],
        ),
    ],
)
def test_longer_allow_lists_are_warnings(before: Any, after: Any, messages: list[str]) -> None:
    found = findings(desired(**before), desired(**after))
    assert [(finding.rule, finding.message) for finding in found] == [
        (Rule.ALLOW_LIST_WIDENED, message) for message in messages
    ]
