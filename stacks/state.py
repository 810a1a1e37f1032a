"""Reads the state of a stack as the CLI exports it."""

import json
from typing import Any, Final

from tenancy.base.manifest import Manifest

# The key and value by which Pulumi marks an encrypted value.
_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"


def objects_in(exported: str) -> list[Manifest]:
    """The Kubernetes objects as they were applied, without those that hold an encrypted value."""
    deployment = json.loads(exported).get("deployment") or {}
    return [
        resource["inputs"]
        for resource in deployment.get("resources") or ()
        if resource["type"].startswith("kubernetes:")
        and not resource.get("delete")
        and not _is_encrypted(resource["inputs"])
    ]


def _is_encrypted(value: Any) -> bool:
    if isinstance(value, dict):
        return _SIGNATURE in value or any(map(_is_encrypted, value.values()))
    return isinstance(value, list) and any(map(_is_encrypted, value))
