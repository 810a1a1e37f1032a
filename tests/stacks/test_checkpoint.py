"""`checkpoint_differences` finds every difference between a stack's state and the desired state.

Most tests call it instead of running a Pulumi preview, because it is faster.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import read_plans
from tenancy.registrations import resource_inputs, resource_name, resource_type
from tenancy.spec.tenant import tenant_from_manifest
from tests.checkpoint import checkpoint_differences
from tests.platform import tenant_manifest


def desired(**spec: Any) -> DesiredState:
    return desired_state(tenant_from_manifest(tenant_manifest("acme", **spec)), read_plans(), frozenset())


def without_empty(value: Any) -> Any:
    """The value without empty lists. The provider omits empty lists in the inputs that it records."""
    if isinstance(value, dict):
        return {key: without_empty(inner) for key, inner in value.items() if inner != []}
    return [without_empty(inner) for inner in value] if isinstance(value, list) else value


def checkpoint(state: DesiredState) -> Manifest:
    resources = [
        {
            "urn": f"urn:pulumi:tenant-acme::tenancy::{resource_type(manifest)}::{resource_name(key)}",
            "type": resource_type(manifest),
            "inputs": without_empty(resource_inputs(manifest)),
            **({"retainOnDelete": True} if state.retains and key.kind == "Namespace" else {}),
        }
        for key, manifest in state.by_key.items()
    ]
    return {"resources": [{"urn": "urn::stack", "type": "pulumi:pulumi:Stack"}, *resources]}


def write(backend: Path, latest: Manifest) -> Path:
    file = backend / ".pulumi" / "stacks" / "tenancy" / "tenant-acme.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"checkpoint": {"latest": latest}}))
    return backend


@pytest.mark.parametrize("spec", [{}, {"adminUsers": ["alice"]}, {"deletionPolicy": "Retain"}])
def test_applied_state_does_not_differ(tmp_path: Path, spec: dict[str, Any]) -> None:
    state = desired(**spec)
    assert checkpoint_differences(state, write(tmp_path, checkpoint(state))) == []


def _drop(latest: Manifest) -> None:
    del latest["resources"][-1]


def _add(latest: Manifest) -> None:
    latest["resources"].append({**latest["resources"][-1], "urn": "urn::tenant-acme/more"})


def _change(latest: Manifest) -> None:
    latest["resources"][-1]["inputs"]["metadata"]["labels"]["tenant.platform.ai/name"] = "other"


def _extend(latest: Manifest) -> None:
    latest["resources"][-1]["inputs"]["metadata"]["labels"]["more"] = "label"


def _add_pending_operation(latest: Manifest) -> None:
    latest["pending_operations"] = [{"type": "creating"}]


def _mark_for_deletion(latest: Manifest) -> None:
    latest["resources"][-1]["delete"] = True


@pytest.mark.parametrize(
    "damage", [_drop, _add, _change, _extend, _add_pending_operation, _mark_for_deletion]
)
def test_state_that_an_up_would_change_differs_in_one_place(
    tmp_path: Path, damage: Callable[[Manifest], None]
) -> None:
    state = desired()
    latest = checkpoint(state)
    damage(latest)
    assert len(checkpoint_differences(state, write(tmp_path, latest))) == 1


@pytest.mark.parametrize(
    "spec",
    [{"adminUsers": ["eve"]}, {"plan": "pro"}, {"namespaces": [{"name": "b"}]}, {"deletionPolicy": "Retain"}],
)
def test_state_of_another_spec_differs(tmp_path: Path, spec: dict[str, Any]) -> None:
    assert checkpoint_differences(desired(**spec), write(tmp_path, checkpoint(desired())))
