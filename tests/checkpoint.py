"""Compares the checkpoint of a tenant's stack with the tenant's desired state.

The stack is on a file backend.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tenancy.base.manifest import Manifest
from tenancy.base.names import stack_name
from tenancy.desired import DesiredState
from tenancy.registrations import resource_inputs, resource_name, resource_type

# The key and the value that mark a secret in a Pulumi checkpoint.
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"


def checkpoint_differences(desired: DesiredState, backend: Path) -> list[str]:
    """The differences between the stack's state and the desired state, one line per object."""
    latest = _latest(backend, desired.tenant)
    recorded = {
        (resource["type"], resource["urn"].rpartition("::")[2]): resource
        for resource in latest.get("resources") or []
        if resource["type"].startswith("kubernetes:")
    }
    return [
        *(["operations are pending"] if latest.get("pending_operations") else []),
        *_object_differences(desired, recorded),
    ]


def stack_file(backend: Path, tenant: str) -> Path:
    """The file that contains the state of a tenant's stack.

    If an operator has run `pulumi` on the stack, the file is not compressed.
    """
    plain = backend / ".pulumi" / "stacks" / "tenancy" / f"{stack_name(tenant)}.json"
    return plain if plain.exists() else plain.with_name(f"{plain.name}.gz")


def read_json(file: Path) -> Any:
    content = file.read_bytes()
    return json.loads(gzip.decompress(content) if file.suffix == ".gz" else content)


def write_json(file: Path, value: Any) -> None:
    content = json.dumps(value).encode()
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)


def _latest(backend: Path, tenant: str) -> Manifest:
    latest: Manifest = read_json(stack_file(backend, tenant))["checkpoint"]["latest"] or {}
    return latest


def _object_differences(desired: DesiredState, recorded: dict[tuple[str, str], Manifest]) -> Iterator[str]:
    expected = {
        (resource_type(manifest), resource_name(key)): manifest for key, manifest in desired.by_key.items()
    }
    for _, name in recorded.keys() - expected.keys():
        yield f"{name}: in the state, but not desired"
    for key, manifest in expected.items():
        resource = recorded.get(key)
        if resource is None:
            yield f"{key[1]}: not in the state"
        elif resource.get("delete") or resource.get("pendingReplacement"):
            yield f"{key[1]}: about to be deleted"
        elif not _is_equal(resource_inputs(manifest), resource["inputs"]):
            yield f"{key[1]}: the state has {resource['inputs']}, desired is {resource_inputs(manifest)}"
        elif manifest["kind"] == "Namespace" and bool(resource.get("retainOnDelete")) != desired.retains:
            yield f"{key[1]}: retainOnDelete differs between the state and the desired state"


def _is_equal(desired: Any, recorded: Any) -> bool:
    """Whether an object's desired inputs equal the inputs in the state.

    Secrets are encrypted in the state, so any non-empty desired value counts as equal to a secret. Empty
    fields are ignored, because the provider drops them.
    """
    if isinstance(recorded, dict) and recorded.get(_SIGNATURE) == _SECRET:
        return bool(desired)
    if isinstance(desired, dict) and isinstance(recorded, dict):
        fields = desired.keys() | recorded.keys()
        return all(_is_equal(desired.get(field), recorded.get(field)) for field in fields)
    if isinstance(desired, list) and isinstance(recorded, list):
        return len(desired) == len(recorded) and all(map(_is_equal, desired, recorded))
    return bool(desired == recorded) or (recorded is None and desired in ([], {}))
