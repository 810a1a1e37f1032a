"""Finds changes to spec fields that do not affect the tenant's objects, such as `spec.paused`. No I/O.

A comparison of the tenant's old and new objects does not show these changes.
"""

from collections.abc import Iterator
from typing import Final

from pydantic import ValidationError

from tenancy.base.manifest import Manifest
from tenancy.changes import FieldChange, ObjectChange, Operation
from tenancy.spec.tenant import TenantModel, TenantSpec

_FIELDS: Final = ("protected", "paused", "adopt", "deletionPolicy")


def tenant_changes(tenant: TenantModel, old_manifest: Manifest | None) -> Iterator[ObjectChange]:
    """Yield the change to the Tenant object if one of the fields in `_FIELDS` changes.

    Yields nothing for a new tenant, or if the old spec is invalid.
    """
    if old_manifest is None:
        return
    try:
        old_spec = TenantSpec.model_validate(old_manifest.get("spec") or {})
    except ValidationError:
        return
    before, after = (spec.model_dump(by_alias=True, mode="json") for spec in (old_spec, tenant.spec))
    fields = tuple(
        FieldChange(path=f"spec.{name}", before=before[name], after=after[name])
        for name in _FIELDS
        if before[name] != after[name]
    )
    if fields:
        yield ObjectChange(operation=Operation.UPDATE, kind="Tenant", name=tenant.name, fields=fields)
