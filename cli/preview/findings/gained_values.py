"""Finds the values that an allow list of a namespace allows in the new state, but not in the old one. No I/O.

An allow list is an annotation of the namespace, for example with the allowed image registries.
"""

from collections.abc import Iterator
from typing import Final

from cli.preview.findings.finding import Gain
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest, Objects
from tenancy.objects import policy_annotations as lists

# The names of the allow lists in messages. `gained_reach` covers the allowed networks.
_NAMES: Final = {
    lists.REGISTRIES: "image registries",
    lists.PULL_POLICIES: "image pull policies",
    lists.SERVICE_TYPES: "service types",
    lists.STORAGE_CLASSES: "storage classes",
    lists.INGRESS_CLASSES: "ingress classes",
    lists.GATEWAY_CLASSES: "gateway classes",
    lists.PRIORITY_CLASSES: "priority classes",
    lists.RUNTIME_CLASSES: "runtime classes",
    lists.HOSTNAMES: "host names",
}


def gained_values(before: Objects, after: Objects) -> Iterator[Gain]:
    """Yield a gain for each allow list of a namespace that allows more values than before.

    If the annotation of an allow list is missing, the namespace allows all values.
    """
    for key, namespace in after.items():
        if key.kind != NAMESPACE.kind or key not in before:
            continue
        for annotation, name in _NAMES.items():
            old, new = _values(before[key], annotation), _values(namespace, annotation)
            if old is None:
                continue
            if new is None:
                yield Gain(f"all {name} are allowed", key)
            elif added := [value for value in new if not any(_covers(each, value) for each in old)]:
                values = ", ".join(value or '""' for value in added)
                yield Gain(f"more {name} are allowed: {values}", key)


def _values(namespace: Manifest, annotation: str) -> list[str] | None:
    text = (namespace["metadata"].get("annotations") or {}).get(annotation)
    return None if text is None else text.split(",") if text else []


def _covers(old: str, new: str) -> bool:
    """Whether the old value allows the new value too.

    For example, the registry `a.io` also allows `a.io/team`, and the host `*.a.io` also allows `x.a.io`.
    """
    return new == old or new.startswith(f"{old}/") or (old.startswith("*.") and new.endswith(old[1:]))
