"""The next step for a tenant depends on its status, its live objects and its repairs."""

from typing import Any

import pytest

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.changes import Cause, ObjectChange, Operation
from tenancy.decision import Facts, decide
from tenancy.desired import DesiredState
from tenancy.plans import read_plans
from watcher.reconciler.last_applied import Applied
from watcher.reconciler.restore_object import Repair
from watcher.reconciler.update_needed import (
    Contested,
    InSync,
    Observation,
    RunUpdate,
    WaitForNamespaces,
    next_step,
    tenants_to_requeue,
)

ROLE = ObjectKey("Role", "tenant-acme", "tenant-viewer")
QUOTA = ObjectKey("ResourceQuota", "tenant-acme", "tenant-quota")
DESIRED = decide({"metadata": {"name": "acme"}, "spec": {"plan": "basic"}}, Facts(read_plans())).desired


def observed(status: Manifest | None = None, generation: int = 3, **parts: Any) -> Observation:
    manifest = {"metadata": {"name": "acme", "generation": generation}, "spec": {"plan": "basic"}}
    if status is not None:
        manifest["status"] = status
    return Observation(manifest, DESIRED, parts.pop("live", dict(DESIRED.by_key)), **parts)


def applied(**status: Any) -> Manifest:
    return {"appliedDigest": DESIRED.digest, "observedGeneration": 3, "phase": "Active", **status}


def repair(key: ObjectKey) -> Repair:
    change = ObjectChange(operation=Operation.CREATE, kind=key.kind, namespace=key.namespace, name=key.name)
    return Repair("deleted", change)


def update(observation: Observation) -> RunUpdate:
    step = next_step(observation)
    assert isinstance(step, RunUpdate)
    return step


def test_applied_tenant_without_repairs_is_in_sync() -> None:
    assert next_step(observed(applied())) == InSync()


def test_new_tenant_is_updated_because_of_its_spec() -> None:
    step = update(observed(live={}, generation=1))
    assert (step.message, step.record.cause_type) == ("spec generation 1", Cause.SPEC)
    assert not step.needs_refresh
    assert {change.operation for change in step.record.changes} == {Operation.CREATE}


def test_new_generation_is_a_change_of_the_spec() -> None:
    step = update(observed(applied(appliedDigest="other"), generation=4))
    assert (step.message, step.record.cause_type) == ("spec generation 4", Cause.SPEC)


def test_update_does_not_record_drift_that_a_repair_records() -> None:
    before = {**DESIRED.by_key, QUOTA: {**DESIRED.by_key[QUOTA], "spec": {"hard": {"cpu": "1"}}}}
    live = {key: manifest for key, manifest in before.items() if key != ROLE}
    status = applied(appliedDigest="other")
    changes = update(observed(status, generation=4, live=live, applied=before)).record.changes
    assert [change.key for change in changes] == [QUOTA]
    # If the applied objects are unknown, the update records all changes.
    changes = update(observed(status, generation=4, live=live)).record.changes
    assert {change.key for change in changes} == {ROLE, QUOTA}


def test_same_generation_with_another_desired_state_is_a_change_of_the_plan() -> None:
    step = update(observed(applied(appliedDigest="other")))
    assert (step.message, step.record.cause_type) == ("plan basic changed", Cause.PLAN)


def test_crds_that_have_come_are_a_change_of_integrations() -> None:
    step = update(observed(applied(appliedDigest="other", missingCrds={"Istio": ["gateways.example"]})))
    assert (step.message, step.record.cause_type) == ("integrations changed", Cause.INTEGRATIONS)


def test_update_after_a_failed_one_refreshes() -> None:
    status = {"observedGeneration": 3, "phase": "Failed", "lastUpdate": {"result": "failed"}}
    step = update(observed(status))
    assert step.record.cause_type is Cause.SPEC
    assert step.needs_refresh


def test_repairs_are_recorded_by_an_update() -> None:
    step = update(observed(applied(), repairs={ROLE: repair(ROLE)}))
    assert step.message == "drift: Role tenant-acme/tenant-viewer deleted"
    assert step.record.cause_type is Cause.DRIFT
    assert step.record.changes == (repair(ROLE).change,)
    assert step.needs_refresh


def test_contested_object_alone_runs_no_update() -> None:
    repairs = {ROLE: repair(ROLE)}
    assert next_step(observed(applied(), repairs=repairs, contested={ROLE})) == Contested(ROLE, repairs)
    assert next_step(observed(applied(), contested={ROLE})) == Contested(ROLE, {})


def test_contested_object_does_not_hold_back_other_repairs() -> None:
    repairs = {ROLE: repair(ROLE), QUOTA: repair(QUOTA)}
    assert update(observed(applied(), repairs=repairs, contested={ROLE})).repairs == repairs


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True)])
def test_paused_tenant_is_reconciled_when_its_drift_begins_and_ends(before: bool, after: bool) -> None:
    """The tenant's desired state is newer than its applied objects.

    It does not contain the drifted object.
    """
    role = DESIRED.by_key[ROLE]
    paused = Applied({ROLE: role}, is_paused=True)
    versions = (role if before else None, role if after else None)
    newer = {"acme": DesiredState("acme", ())}
    assert tenants_to_requeue(newer, lambda _: paused, *versions) == {"acme"}
    assert tenants_to_requeue({"acme": DESIRED}, lambda _: paused, role, role) == set()


@pytest.mark.parametrize("status", [None, applied(), applied(appliedDigest="other")])
def test_terminating_namespace_is_waited_for_first(status: Manifest | None) -> None:
    key = ObjectKey("Namespace", "", "tenant-acme")
    namespace = DESIRED.by_key[key]
    ending = {**namespace, "metadata": {**namespace["metadata"], "deletionTimestamp": "now"}}
    seen = observed(status, live={**DESIRED.by_key, key: ending})
    assert next_step(seen) == WaitForNamespaces(("tenant-acme",))
