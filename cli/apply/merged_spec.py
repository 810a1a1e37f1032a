"""Computes the spec that results if a manifest is applied to a live Tenant. No I/O.

The API server computes the same result in a dry run. But a dry run needs the right to change Tenants, and a
preview does not.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from cli.apply.field_ownership import FieldSet
from tenancy.base.manifest import Manifest
from tenancy.spec.crd_schema import structural_schema
from tenancy.spec.tenant import TenantSpec

Spec = dict[str, Any]
Schema = dict[str, Any]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
# The value of a field that does not exist.
_MISSING: Final = object()


def server_side_spec(live: Spec, new: Spec, own: FieldSet, others: FieldSet) -> Spec:
    """The spec that results from a server-side apply of `new` to the live spec.

    `own` are the fields of the live spec that belong to the field manager of this apply. `others` are the
    fields that belong to other managers. If a field is in `own`, but neither in `new` nor in `others`, the
    result does not contain the field.
    """
    merged: Spec = _merged(live, new, own, others, spec_schema())
    return merged


def kubectl_apply_spec(tenant: Manifest, new: Spec) -> Spec:
    """The spec that results from a client-side `kubectl apply` of `new`, which replaces whole lists.

    If a live field is missing in `new`, it is removed only if the last `kubectl apply` has set it. The
    annotation `last-applied-configuration` contains the fields that the last `kubectl apply` has set.
    """
    annotation = (tenant["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    last = (json.loads(annotation).get("spec") or {}) if annotation else {}
    merged: Spec = _three_way(tenant.get("spec") or {}, new, last)
    return merged


@cache
def spec_schema() -> Schema:
    return structural_schema(TenantSpec)


def kept_paths(result: Spec, new: Spec) -> Iterator[tuple[str, ...]]:
    """The paths of the fields in `result` that are not in `new`. These fields stay when `new` is applied.

    `result` is the spec after the apply. Each path is a tuple of keys as in `fieldsV1`, such as
    `("f:network", "f:egress")`. Fields that have their default value are left out, because the API server
    would set this value anyway.
    """
    return _kept(result, new, spec_schema())


def conflicting_paths(live: Spec, new: Spec, others: FieldSet) -> Iterator[tuple[str, ...]]:
    """The paths of fields that another manager owns, and for which `new` has another value than `live`.

    Each path is a tuple of keys as in `fieldsV1`.
    """
    return _conflicting(live, new, others, spec_schema())


def path_text(path: tuple[str, ...]) -> str:
    """The text for a path with keys as in `fieldsV1`, for example `spec.namespaces[name=b]`."""
    text = "spec"
    for step in path:
        mark, _, rest = step.partition(":")
        if mark == "f":
            text += f".{rest}"
        elif mark == "k":
            text += "[" + ",".join(f"{key}={value}" for key, value in json.loads(rest).items()) + "]"
        elif mark == "v":
            text += f"[{json.loads(rest)}]"
    return text


def _merged(live: Any, new: Any, own: FieldSet | None, others: FieldSet | None, schema: Schema) -> Any:
    if new is _MISSING:
        return _pruned(live, own, others, schema)
    if live is _MISSING or not _has_parts(schema, new, live):
        return new
    live_parts, new_parts = _parts(live, schema), _parts(new, schema)
    return _whole(
        {
            step: _merged(
                live_parts.get(step, _MISSING),
                new_parts.get(step, _MISSING),
                (own or {}).get(step),
                (others or {}).get(step),
                _part_schema(schema, step),
            )
            for step in live_parts | new_parts
        },
        schema,
    )


def _pruned(live: Any, own: FieldSet | None, others: FieldSet | None, schema: Schema) -> Any:
    """The live value without the fields and list items that are in `own`, but not in `others`.

    `_MISSING` if nothing is left.
    """
    if own is None:
        return live
    if others is None and (not own or "." in own or not _has_parts(schema, live)):
        return _MISSING
    if not _has_parts(schema, live):
        return live
    parts = {
        step: _pruned(value, own.get(step), (others or {}).get(step), _part_schema(schema, step))
        for step, value in _parts(live, schema).items()
    }
    kept = {step: value for step, value in parts.items() if value is not _MISSING}
    return _whole(kept, schema) if kept else _MISSING


def _has_parts(schema: Schema, *values: Any) -> bool:
    """Whether a field manager can own single fields or list items of the values.

    This is true for objects, and for lists of type `map` or `set`. A field manager can own any other value
    only as a whole.
    """
    if schema.get("type") == "object":
        return all(isinstance(value, dict) for value in values)
    is_split = schema.get("x-kubernetes-list-type") in ("map", "set")
    return is_split and all(isinstance(value, list) for value in values)


def _parts(value: Any, schema: Schema) -> dict[str, Any]:
    """The fields of an object, or the items of a list. The keys are as in `fieldsV1`, such as `f:NAME`."""
    if isinstance(value, dict):
        return {f"f:{name}": part for name, part in value.items()}
    if schema.get("x-kubernetes-list-type") == "set":
        return {f"v:{json.dumps(item)}": item for item in value}
    keys = schema["x-kubernetes-list-map-keys"]
    return {_item_step({key: item.get(key) for key in keys}): item for item in value}


def _item_step(keys: dict[str, Any]) -> str:
    return "k:" + json.dumps(keys, separators=(",", ":"), sort_keys=True)


def _whole(parts: dict[str, Any], schema: Schema) -> Any:
    present = {step: value for step, value in parts.items() if value is not _MISSING}
    if schema.get("type") == "object":
        return {step.removeprefix("f:"): value for step, value in present.items()}
    return list(present.values())


def _part_schema(schema: Schema, step: str) -> Schema:
    if step.startswith("f:"):
        properties: Schema = schema.get("properties") or {}
        part: Schema = properties.get(step.removeprefix("f:")) or schema.get("additionalProperties") or {}
        return part
    items: Schema = schema.get("items") or {}
    return items


def _kept(result: Any, new: Any, schema: Schema) -> Iterator[tuple[str, ...]]:
    if not _has_parts(schema, result, new):
        return
    new_parts = _parts(new, schema)
    for step, value in _parts(result, schema).items():
        part_schema = _part_schema(schema, step)
        if step in new_parts:
            for path in _kept(value, new_parts[step], part_schema):
                yield (step, *path)
        elif part_schema.get("default", _MISSING) != value:
            yield (step,)


def _conflicting(live: Any, new: Any, others: FieldSet, schema: Schema) -> Iterator[tuple[str, ...]]:
    if not _has_parts(schema, live, new):
        if live != new:
            yield ()
        return
    live_parts = _parts(live, schema)
    for step, value in _parts(new, schema).items():
        if step in others and step in live_parts:
            for path in _conflicting(live_parts[step], value, others[step], _part_schema(schema, step)):
                yield (step, *path)


def _three_way(live: Any, new: Any, last: Any) -> Any:
    if not (isinstance(live, dict) and isinstance(new, dict)):
        return new
    removed = (last.keys() - new.keys()) if isinstance(last, dict) else set()
    merged = {name: value for name, value in live.items() if name not in removed}
    for name, value in new.items():
        merged[name] = _three_way(live.get(name), value, last.get(name) if isinstance(last, dict) else None)
    return merged
