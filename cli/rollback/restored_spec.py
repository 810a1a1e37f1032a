"""Specs of one tenant against each other: what a rollback restores, and what it prints for git. Pure."""

from typing import Any, Final

from pydantic import ValidationError

from tenancy.base.manifest import Manifest
from tenancy.changes import FieldChange, ObjectChange, Operation
from tenancy.drift import field_differences
from tenancy.spec.tenant import TenantSpec

Spec = dict[str, Any]

# Says whether the watcher works on the tenant, not what the tenant is.
_PAUSED: Final = "paused"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def restored_spec(tenant: Manifest, spec: Spec) -> Spec:
    """An earlier spec as the tenant gets it now: a paused tenant stays so, until it is resumed."""
    others = {field: value for field, value in spec.items() if field != _PAUSED}
    return {**others, _PAUSED: tenant["spec"][_PAUSED]} if _PAUSED in tenant["spec"] else others


def spec_change(tenant: Manifest, spec: Spec) -> ObjectChange | None:
    """What another spec would change in the Tenant itself; None where both say the same.

    What the API server has filled in is no difference.
    """
    try:
        before, after = written_spec(tenant["spec"]), written_spec(spec)
    except ValidationError:
        # One of them is none that is understood today: only as they stand can they be compared.
        before, after = tenant["spec"], spec
    found = field_differences({"kind": "Tenant", "spec": after}, {"kind": "Tenant", "spec": before})
    fields = tuple(FieldChange(path=path, before=old, after=new) for path, old, new in found)
    if not fields:
        return None
    name = tenant["metadata"]["name"]
    return ObjectChange(operation=Operation.UPDATE, kind="Tenant", name=name, fields=fields)


def written_spec(spec: Spec) -> Spec:
    """A spec with what a person would write of it: the plan, and what is not the default."""
    read = TenantSpec.model_validate(spec)
    return {"plan": read.plan, **read.model_dump(by_alias=True, mode="json", exclude_defaults=True)}


def manifest_for_git(tenant: Manifest, spec: Spec) -> Manifest:
    """The Tenant with this spec, as a file in git has it."""
    metadata = {"name": tenant["metadata"]["name"]}
    for field in ("labels", "annotations"):
        given = tenant["metadata"].get(field) or {}
        if kept := {key: value for key, value in given.items() if key != _LAST_APPLIED}:
            metadata[field] = kept
    return {
        "apiVersion": tenant["apiVersion"],
        "kind": tenant["kind"],
        "metadata": metadata,
        "spec": written_spec(spec),
    }
