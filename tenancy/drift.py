"""Compares desired with live objects. Pure.

Every field of the desired object must have the same value in the live one. `spec`, `rules`, `subjects` and
`data` may contain nothing else. Other labels and annotations are allowed, and so are the server's defaults in
kinds that it completes.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.desired import DesiredState

# The fields that may contain nothing but the desired values.
_OURS: Final = re.compile(r"(spec|rules|subjects|data|binaryData)\b")
# The same for kinds whose spec the API server completes with defaults.
_OURS_IN: Final = {
    # The API server adds defaults everywhere. `(?!)` matches nothing.
    "CustomResourceDefinition": re.compile(r"(?!)"),
    "ValidatingAdmissionPolicy": re.compile(r"(?!)"),
    "ValidatingAdmissionPolicyBinding": re.compile(r"(?!)"),
    "LimitRange": re.compile(r"spec\b(?!\.limits\[)"),
    "Service": re.compile(r"spec\.selector\b"),
}
# A field's path, as it is, and as it should be.
Difference = tuple[str, Any, Any]

# What the server lets nobody change, and what is compared in its own way.
_NOT_PATCHED: Final = ("apiVersion", "kind", "metadata", "roleRef")


def drift(desired: DesiredState, live: Mapping[ObjectKey, Manifest]) -> dict[ObjectKey, str]:
    """The drift of each object that differs from the desired one, as a short phrase."""
    return {
        key: difference
        for key, manifest in desired.by_key.items()
        if (difference := object_drift(manifest, live.get(key))) is not None
    }


def unwanted(desired: DesiredState, live: Mapping[ObjectKey, Manifest]) -> dict[ObjectKey, Manifest]:
    """Live objects that are not among the desired ones."""
    return {key: manifest for key, manifest in live.items() if key not in desired.by_key}


def drift_text(differences: Mapping[ObjectKey, str]) -> str:
    """Drift in one line; empty if there is none."""
    parts = [f"{key} {difference}" for key, difference in list(differences.items())[:5]]
    more = len(differences) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def object_drift(desired: Manifest, live: Manifest | None) -> str | None:
    """The first difference, as a short phrase; None if there is none."""
    if live is None:
        return "deleted"
    path = _difference(desired, live, "", _ours(desired))
    return f"{path} changed" if path else None


def repair_patch(desired: Manifest, live: Manifest) -> Manifest:
    """A merge patch that reverts an edited object; empty if a patch can revert nothing.

    Pulumi compares only fields that a program sets, and treats an empty list or map as not set. It would not
    revert a rule added to an empty list, or a selector that was emptied.
    """
    patch: Manifest = {
        field: inner
        for field, wanted in desired.items()
        if field not in _NOT_PATCHED
        and (inner := _repair(wanted, live.get(field), field, _ours(desired))) is not None
    }
    metadata = {
        field: inner
        for field in ("labels", "annotations")
        if (inner := _missing(desired["metadata"].get(field, {}), live["metadata"].get(field) or {}))
    }
    return {**patch, "metadata": metadata} if metadata else patch


def _missing(desired: Mapping[str, str], live: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in desired.items() if live.get(name) != value}


def _ours(desired: Manifest) -> re.Pattern[str]:
    return _OURS_IN.get(desired["kind"], _OURS)


def _repair(desired: Any, live: Any, path: str, ours: re.Pattern[str]) -> Any | None:
    if not isinstance(desired, Mapping) or not isinstance(live, Mapping):
        return None if _difference(desired, live, path, ours) is None else desired
    patch: Manifest = {key: None for key in live if key not in desired} if ours.match(path) else {}
    for key, value in desired.items():
        if (inner := _repair(value, live.get(key), f"{path}.{key}", ours)) is not None:
            patch[key] = inner
    return patch or None


def field_differences(desired: Manifest, live: Manifest) -> Iterator[Difference]:
    """Every field that differs: its path, live value and desired value."""
    return _differences(desired, live, "", _ours(desired))


def _difference(desired: Any, live: Any, path: str, ours: re.Pattern[str]) -> str | None:
    """The path of the first difference."""
    return next((where for where, _, _ in _differences(desired, live, path, ours)), None)


def _differences(desired: Any, live: Any, path: str, ours: re.Pattern[str]) -> Iterator[Difference]:
    """An absent value equals an empty one: the API server drops empty values."""
    if isinstance(desired, Mapping):
        others = live or {}
        is_whole = ours.match(path) is not None
        for key in dict.fromkeys([*desired, *(others if is_whole else ())]):
            where = f"{path}.{key}" if path else key
            if key not in desired:
                yield where, others[key], None
            else:
                yield from _differences(desired[key], others.get(key), where, ours)
    elif isinstance(desired, list):
        others = live or []
        if len(desired) != len(others):
            yield path, live, desired
            return
        for index, value in enumerate(desired):
            yield from _differences(value, others[index], f"{path}[{index}]", ours)
    elif desired != live:
        yield path, live, desired
