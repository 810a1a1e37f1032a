"""The change of the Tenant itself, in the fields that none of its objects shows. Pure."""

from collections.abc import Iterator
from typing import Final

from pydantic import ValidationError

from tenancy.base.manifest import Manifest
from tenancy.changes import FieldChange, ObjectChange, Operation
from tenancy.spec.tenant import Tenant, TenantSpec

_SWITCHES: Final = ("protected", "paused", "adopt", "deletionPolicy")


def tenant_changes(tenant: Tenant, there: Manifest | None) -> Iterator[ObjectChange]:
    """One change, or none. A tenant that is new, or was not sound, has none."""
    if there is None:
        return
    try:
        old = TenantSpec.model_validate(there.get("spec") or {})
    except ValidationError:
        return
    was, now = (spec.model_dump(by_alias=True, mode="json") for spec in (old, tenant.spec))
    fields = tuple(
        FieldChange(path=f"spec.{name}", before=was[name], after=now[name])
        for name in _SWITCHES
        if was[name] != now[name]
    )
    if fields:
        yield ObjectChange(operation=Operation.UPDATE, kind="Tenant", name=tenant.name, fields=fields)
