"""The status of a Tenant in each situation. Some fields are written, and others are kept or removed."""

from typing import Any

from stacks.result import StackResult
from tenancy.base.manifest import Manifest
from tenancy.base.reasons import Reason
from tenancy.decision import Facts, decide
from tenancy.plans import read_plans
from watcher.reconciler.drift_report import drift_verdict, paused_drift_verdict
from watcher.reconciler.status import (
    active_status,
    failed_status,
    paused_status,
    pending_status,
    terminating_status,
)
from watcher.reconciler.status_change import with_isolation

MANIFEST: Manifest = {"metadata": {"name": "acme", "generation": 2}, "spec": {"plan": "basic"}}
DESIRED = decide(MANIFEST, Facts(read_plans())).desired
RESULT = StackResult("tenant-acme", "up", {"create": 18}, 1.5, version=7)


def with_status(status: Manifest) -> Manifest:
    return {**MANIFEST, "status": status}


def conditions(status: Manifest) -> dict[str, tuple[str, str]]:
    return {entry["type"]: (entry["status"], entry["reason"]) for entry in status["conditions"]}


def active(**old: Any) -> Manifest:
    return active_status(with_status(old) if old else MANIFEST, DESIRED, RESULT, "spec generation 2")


def test_active_tenant_has_all_parts() -> None:
    status = active()
    assert status["phase"] == "Active"
    assert status["appliedDigest"] == DESIRED.digest
    assert status["stack"] == "tenant-acme"
    assert (status["namespaceCount"], list(status["namespaceStatus"])) == (1, ["tenant-acme"])
    last = status["lastUpdate"]
    assert (last["version"], last["result"], last["message"]) == (7, "succeeded", "spec generation 2")
    assert conditions(status) == {
        "Ready": ("True", "Applied"),
        "TenantReady": ("True", "Applied"),
        "NamespaceReady": ("True", "Applied"),
        "SpecApplied": ("True", "Applied"),
        "IntegrationsReady": ("True", "Applied"),
        "Drifted": ("False", "NoDrift"),
    }


def test_missing_crds_are_listed_and_removed_once_they_are_there() -> None:
    manifest = {**MANIFEST, "spec": {"plan": "basic", "istio": {"enabled": True}}}
    desired = decide(manifest, Facts(read_plans(), served=())).desired
    status = active_status(manifest, desired)
    assert status["missingCrds"] == {"Istio": list(desired.missing["Istio"])}
    assert conditions(status)["IntegrationsReady"] == ("False", "CRDsMissing")
    assert "missingCrds" not in active(**status)


def test_status_of_the_first_turn_has_every_condition() -> None:
    status = pending_status(MANIFEST, Reason.APPLYING, "the stack is being applied")
    assert conditions(status) == {
        "Ready": ("False", "Applying"),
        "TenantReady": ("False", "Applying"),
        "NamespaceReady": ("False", "Applying"),
        "SpecApplied": ("False", "Applying"),
        "IntegrationsReady": ("Unknown", "Pending"),
        "Drifted": ("Unknown", "Pending"),
    }


def test_failure_keeps_what_is_applied() -> None:
    status = failed_status(with_status(active()), "UpdateConflict", "busy")
    assert status["phase"] == "Failed"
    assert status["appliedDigest"] == DESIRED.digest
    assert status["lastUpdate"]["result"] == "succeeded"
    assert conditions(status)["NamespaceReady"] == ("True", "Applied")


def test_update_that_failed_half_way_forgets_what_is_applied() -> None:
    status = failed_status(with_status(active()), "UpdateFailed", "no", half_done="spec generation 2")
    assert "appliedDigest" not in status
    assert status["lastUpdate"]["result"] == "failed"
    assert status["lastUpdate"]["message"] == "spec generation 2"
    assert status["namespaceStatus"] == active()["namespaceStatus"]


def test_namespace_of_another_tenant_is_a_failure_of_the_namespace_too() -> None:
    status = failed_status(MANIFEST, Reason.NAMESPACE_TAKEN, "taken")
    assert conditions(status)["NamespaceReady"] == ("False", "NamespaceTaken")


def test_unrepaired_drift_is_drift() -> None:
    drifted = drift_verdict(repaired="", unrepaired="denied")
    status = failed_status(with_status(active()), "RepairFailed", "denied", is_applied=True, drifted=drifted)
    assert conditions(status)["Drifted"] == ("True", "DriftFound")
    assert conditions(status)["SpecApplied"] == ("True", "Applied")


def test_rejected_spec_is_not_applied_and_not_drift() -> None:
    status = failed_status(with_status(active()), "UnknownPlan", "spec.plan: there is no plan 'gold'")
    assert conditions(status)["SpecApplied"] == ("False", "UnknownPlan")
    assert conditions(status)["Drifted"] == ("False", "NoDrift")


def test_paused_tenant_keeps_its_phase_and_reports_drift() -> None:
    live = {key: manifest for key, manifest in DESIRED.by_key.items() if key.kind != "Role"}
    status = paused_status(
        with_status(active()), DESIRED, paused_drift_verdict(DESIRED.by_key, live, problem="")
    )
    assert status["phase"] == "Active"
    assert conditions(status)["Drifted"] == ("True", "Paused")
    assert conditions(status)["Ready"] == ("False", "Paused")
    assert conditions(status)["SpecApplied"] == ("True", "Applied")
    assert status["appliedDigest"] == DESIRED.digest


def test_spec_of_a_paused_tenant_that_waits_is_not_drift() -> None:
    manifest = {**with_status(active()), "spec": {"plan": "pro", "paused": True}}
    pro = decide(manifest, Facts(read_plans())).desired
    drifted = paused_drift_verdict(DESIRED.by_key, DESIRED.by_key, problem="")
    status = paused_status(manifest, pro, drifted)
    assert conditions(status)["SpecApplied"] == ("False", "Paused")
    assert conditions(status)["Drifted"] == ("False", "NoDrift")
    assert conditions(status)["Ready"] == ("False", "Paused")


def test_protection_of_a_paused_tenant_that_waits_is_not_applied() -> None:
    manifest = {**with_status(active()), "spec": {"plan": "basic", "protected": True, "paused": True}}
    protected = decide(manifest, Facts(read_plans())).desired
    assert protected.digest == DESIRED.digest
    drifted = paused_drift_verdict(DESIRED.by_key, DESIRED.by_key, problem="")
    assert conditions(paused_status(manifest, protected, drifted))["SpecApplied"] == ("False", "Paused")


def test_drift_is_unknown_until_the_last_applied_objects_are_read() -> None:
    drifted = paused_drift_verdict(None, DESIRED.by_key, problem="the backend does not answer")
    status = paused_status(with_status(active()), DESIRED, drifted)
    assert conditions(status)["Drifted"] == ("Unknown", "Paused")
    assert "the backend does not answer" in drifted.message


def test_terminating_tenant_keeps_its_digest() -> None:
    status = terminating_status(with_status(active()), Reason.DELETING, "destroying the stack")
    assert status["phase"] == "Terminating"
    assert status["appliedDigest"] == DESIRED.digest


def test_condition_keeps_its_transition_time_while_its_status_stays() -> None:
    old = active()
    for entry in old["conditions"]:
        entry["lastTransitionTime"] = "2020-01-01T00:00:00Z"
    new = {entry["type"]: entry for entry in failed_status(with_status(old), "X", "y")["conditions"]}
    assert new["NamespaceReady"]["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    assert new["Ready"]["lastTransitionTime"] != "2020-01-01T00:00:00Z"


def test_long_message_of_the_api_server_is_cut_at_the_limit_of_kubernetes() -> None:
    status = failed_status(MANIFEST, "UpdateFailed", "x" * 1_000_000)
    assert {len(entry["message"]) for entry in status["conditions"]} <= {0, 32768}


def test_failed_checks_are_named_in_the_condition_isolated() -> None:
    unknown = active()
    assert "Isolated" not in conditions(with_isolation(unknown, MANIFEST, None))
    passed = with_isolation(unknown, MANIFEST, {})
    assert conditions(passed)["Isolated"] == ("True", "ChecksPassed")
    failures = {f"check-{number}": "policy a does not exist" for number in range(25)}
    (isolated,) = (
        entry
        for entry in with_isolation(passed, with_status(passed), failures)["conditions"]
        if entry["type"] == "Isolated"
    )
    assert isolated["status"] == "False"
    assert isolated["message"].startswith("failed checks: check-0, check-1, ")
    assert isolated["message"].endswith("check-19 and 5 more: policy a does not exist")
