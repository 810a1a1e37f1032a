"""Compares desired objects with live objects. No I/O.

A live object has no drift if it meets both conditions:

- Every field of the desired object has the same value in the live object.
- In `spec`, `rules`, `subjects`, `data` and `binaryData`, the live object has no additional fields. Defaults
  that the API server adds to some kinds are allowed.

Additional labels and annotations are allowed. The exceptions are those labels and annotations of namespaces
that only the platform sets, such as the allow lists of the admission policies.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from tenancy.base.labels import NAMESPACE_ANNOTATION_PREFIXES, NAMESPACE_LABEL_PREFIXES
from tenancy.base.manifest import Manifest, ObjectKey, Objects

if TYPE_CHECKING:
    from tenancy.desired import DesiredState

# Matches the paths of fields in which the live object must not have entries that the desired object lacks.
_OURS: Final = re.compile(r"(spec|rules|subjects|data|binaryData)\b")
# Prefixes of the labels and annotations of a namespace that only the platform sets. If the live namespace has
# such a label or annotation, and the desired namespace lacks it, this is drift.
_OUR_KEYS: Final = {
    "metadata.labels": NAMESPACE_LABEL_PREFIXES,
    "metadata.annotations": NAMESPACE_ANNOTATION_PREFIXES,
}
_OUR_METADATA: Final = "|".join(
    re.escape(f"{path}.{prefix}") for path, prefixes in _OUR_KEYS.items() for prefix in prefixes
)
# Patterns that replace `_OURS` for some kinds.
_OURS_IN: Final = {
    # The `spec` of a namespace belongs to Kubernetes.
    "Namespace": re.compile(_OUR_METADATA),
    # The API server adds defaults in all fields of these kinds. `(?!)` matches no path.
    "CustomResourceDefinition": re.compile(r"(?!)"),
    "ValidatingAdmissionPolicy": re.compile(r"(?!)"),
    "ValidatingAdmissionPolicyBinding": re.compile(r"(?!)"),
    # The API server adds defaults to these kinds.
    "LimitRange": re.compile(r"spec\b(?!\.limits\[)"),
    "Service": re.compile(r"spec\.selector\b"),
}
# The path of a field, its live value and its desired value.
Difference = tuple[str, Any, Any]

# Fields that `repair_patch` does not copy. The API server rejects changes of `apiVersion`, `kind` and
# `roleRef`. Labels and annotations in `metadata` are compared separately.
_NOT_PATCHED: Final = ("apiVersion", "kind", "metadata", "roleRef")


def drift(desired: Objects, live: Objects) -> dict[ObjectKey, str]:
    """The keys of desired objects that do not exist in the cluster, or differ from the live object.

    Each value is the text of `object_drift`, such as `deleted` or `spec.hard.pods changed`.
    """
    return {
        key: difference
        for key, manifest in desired.items()
        if (difference := object_drift(manifest, live.get(key))) is not None
    }


def unwanted(desired: "DesiredState", live: Mapping[ObjectKey, Manifest]) -> dict[ObjectKey, Manifest]:
    """The live objects whose keys are not in the desired state."""
    return {key: manifest for key, manifest in live.items() if key not in desired.by_key}


def drift_text(differences: Mapping[ObjectKey, str]) -> str:
    """The result of `drift` as text in one line. It lists at most 5 objects. Empty if there is no drift."""
    parts = [f"{key} {difference}" for key, difference in list(differences.items())[:5]]
    more = len(differences) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def object_drift(desired: Manifest, live: Manifest | None) -> str | None:
    """A text about the first field that differs, such as `spec.hard.pods changed`. None if no field differs.

    The text is `deleted` if `live` is None.
    """
    if live is None:
        return "deleted"
    path = _difference(desired, live, "", _ours(desired))
    return f"{path} changed" if path else None


def repair_patch(desired: Manifest, live: Manifest) -> Manifest:
    """A merge patch that changes the live object back to the desired object.

    The patch does not contain immutable fields, such as `roleRef`. It is empty if no other field differs.

    `pulumi up` alone does not revert all changes. It compares only fields that the program sets, and ignores
    fields that the program sets to an empty list or map. For example, `pulumi up` would not remove a rule
    that somebody added to an empty list.
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
        if (inner := _metadata_repair(desired, live, field))
    }
    return {**patch, "metadata": metadata} if metadata else patch


def _metadata_repair(desired: Manifest, live: Manifest, field: str) -> Manifest:
    """A merge patch for the labels or the annotations. `field` is `labels` or `annotations`."""
    wanted, current = desired["metadata"].get(field, {}), live["metadata"].get(field) or {}
    changed = {key: value for key, value in wanted.items() if current.get(key) != value}
    ours = _ours(desired)
    removed = [key for key in current if key not in wanted and ours.match(f"metadata.{field}.{key}")]
    return {**changed, **dict.fromkeys(removed)}


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
    """The path, the live value and the desired value of every field that differs."""
    return _differences(desired, live, "", _ours(desired))


def _difference(desired: Any, live: Any, path: str, ours: re.Pattern[str]) -> str | None:
    """The path of the first field that differs. None if there is no difference."""
    return next((where for where, _, _ in _differences(desired, live, path, ours)), None)


def _differences(desired: Any, live: Any, path: str, ours: re.Pattern[str]) -> Iterator[Difference]:
    """The differences in the field `path` and in all fields below it.

    A missing map or list equals an empty one, because the API server removes empty maps and lists.
    """
    if isinstance(desired, Mapping):
        others = live or {}
        is_whole = ours.match(path) is not None
        is_ours = path in _OUR_KEYS
        additional = [key for key in others if is_whole or (is_ours and ours.match(f"{path}.{key}"))]
        for key in dict.fromkeys([*desired, *additional]):
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
