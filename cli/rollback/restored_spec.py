"""Computes the spec that a rollback restores. No I/O.

This module also computes how the live spec differs from the restored spec, and the manifest that users commit
to git.
"""

from typing import Any, Final

from pydantic import ValidationError

from cli.apply.merged_spec import LAST_APPLIED
from tenancy.base.labels import CHANGE_ANNOTATIONS, DELETER_ANNOTATION, SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.changes import FieldChange, ObjectChange, Operation
from tenancy.drift import field_differences
from tenancy.spec.tenant import TenantSpec

Spec = dict[str, Any]

# A rollback keeps the current values of these fields. They control how the tenant is operated now.
_SWITCHES: Final = ("paused", "cordoned")
# These annotations describe the live spec, not the restored spec.
_NOT_IN_GIT: Final = (LAST_APPLIED, SPEC_AUTHOR_ANNOTATION, DELETER_ANNOTATION, *CHANGE_ANNOTATIONS)


def restored_spec(tenant: Manifest, spec: Spec) -> Spec:
    """The earlier spec `spec`, but with the values of `paused` and `cordoned` from the live Tenant."""
    others = {field: value for field, value in spec.items() if field not in _SWITCHES}
    return others | {field: tenant["spec"][field] for field in _SWITCHES if field in tenant["spec"]}


def spec_change(tenant: Manifest, spec: Spec) -> ObjectChange | None:
    """The change to the Tenant if `spec` replaces its current spec. None if both specs are equal.

    A field that has its default value counts as equal to a missing field.
    """
    try:
        before, after = minimal_spec(tenant["spec"]), minimal_spec(spec)
    except ValidationError:
        # One spec is invalid in this version of tenancy, so its defaults are unknown. Compare the raw specs.
        before, after = tenant["spec"], spec
    differences = field_differences({"kind": "Tenant", "spec": after}, {"kind": "Tenant", "spec": before})
    fields = tuple(FieldChange(path=path, before=old, after=new) for path, old, new in differences)
    if not fields:
        return None
    name = tenant["metadata"]["name"]
    return ObjectChange(operation=Operation.UPDATE, kind="Tenant", name=name, fields=fields)


def minimal_spec(spec: Spec) -> Spec:
    """The spec without the fields that have their default value. The field `plan` is always included.

    Raises ValidationError if the spec is invalid in this version of tenancy.
    """
    parsed = TenantSpec.model_validate(spec)
    return {"plan": parsed.plan, **parsed.model_dump(by_alias=True, mode="json", exclude_defaults=True)}


def manifest_for_git(tenant: Manifest, spec: Spec) -> Manifest:
    """The manifest that users commit to git: the name, labels and annotations of `tenant`, and `spec`.

    The manifest contains no status, no default values, and no metadata that the API server sets. It also
    lacks annotations that describe the live spec, such as its author.

    Raises ValidationError if the spec is invalid in this version of tenancy.
    """
    metadata = {"name": tenant["metadata"]["name"]}
    for field in ("labels", "annotations"):
        values = tenant["metadata"].get(field) or {}
        if kept := {key: value for key, value in values.items() if key not in _NOT_IN_GIT}:
            metadata[field] = kept
    return {
        "apiVersion": tenant["apiVersion"],
        "kind": tenant["kind"],
        "metadata": metadata,
        "spec": minimal_spec(spec),
    }
