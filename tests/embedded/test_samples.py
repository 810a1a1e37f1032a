"""`./dev run --once` reports whether the sample tenants became Active, and prints their table.

The tests use Tenants as plain data. They need no cluster.
"""

from typing import Any

from embedded.run.foreground import outcome_text
from embedded.run.samples import sample_outcome
from embedded.run.tenant_table import change_lines, tenant_rows


def tenant(phase: str, *, generation: int = 1, observed: int = 1, version: str = "10") -> dict[str, Any]:
    ready = {"type": "Ready", "status": "False", "reason": "UnknownPlan", "message": "there is no plan gold"}
    return {
        "apiVersion": "platform.ai/v1",
        "kind": "Tenant",
        "metadata": {
            "name": "acme",
            "generation": generation,
            "resourceVersion": version,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"plan": "gold"},
        "status": {"phase": phase, "observedGeneration": observed, "conditions": [ready]},
    }


def test_active_sample_is_done() -> None:
    outcome = sample_outcome([tenant("Pending")], [tenant("Active")])
    assert (outcome.waiting, outcome.failed) == ((), ())
    assert outcome_text(outcome, 1, 180) == "all 1 sample tenants are Active"


def test_active_sample_with_a_newer_spec_is_waited_for() -> None:
    assert sample_outcome([tenant("Active")], [tenant("Active", generation=2)]).waiting


def test_sample_without_a_status_is_waited_for() -> None:
    new = tenant("Pending")
    del new["status"]
    assert sample_outcome([new], [new]).waiting == (
        "acme: NotSeen: no watcher has reconciled the tenant yet; run `tenancy doctor` to find out why",
    )


def test_failed_sample_is_named_with_its_reason() -> None:
    outcome = sample_outcome([tenant("Pending")], [tenant("Failed", version="11")])
    assert outcome_text(outcome, 1, 180) == "failed: acme: UnknownPlan: there is no plan gold"


def test_failure_left_by_an_earlier_run_does_not_count() -> None:
    outcome = sample_outcome([tenant("Failed")], [tenant("Failed")])
    assert not outcome.failed
    assert outcome.waiting
    assert outcome_text(outcome, 1, 180).startswith("not Active after 180 s: acme: UnknownPlan")


def test_sample_that_was_deleted_meanwhile_has_failed() -> None:
    assert sample_outcome([tenant("Active")], []).failed == ("acme: it was deleted",)


def test_lines_are_written_for_changes_of_phase_only() -> None:
    before, failed = tenant_rows([tenant("Pending")], []), tenant_rows([tenant("Failed")], [])
    assert change_lines({}, before) == ["tenant acme (platform.ai): Pending"]
    assert change_lines(before, before) == []
    assert change_lines(before, failed) == [
        "tenant acme (platform.ai): Failed (UnknownPlan: there is no plan gold)"
    ]
    assert change_lines(before, {}) == ["tenant acme (platform.ai): deleted"]
