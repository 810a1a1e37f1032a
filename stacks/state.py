"""Reads the objects from a stack's exported state."""

import json
from typing import Any, Final

from tenancy.base.manifest import Manifest

# The key that marks an encrypted value in Pulumi's state.
_SECRET_KEY: Final = "4dabf18193072939515e22adb298388d"


def objects_from_export(exported: str) -> list[Manifest]:
    """The Kubernetes objects in the output of `pulumi stack export`, as Pulumi applied them.

    Objects that contain an encrypted value are omitted.
    """
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
        return _SECRET_KEY in value or any(map(_is_encrypted, value.values()))
    return isinstance(value, list) and any(map(_is_encrypted, value))
