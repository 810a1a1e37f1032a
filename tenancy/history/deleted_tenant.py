"""The record of a deleted tenant: its last manifest, its history, and the user who deleted it. No I/O.

Before `tenancy delete` deletes a Tenant, it annotates the Tenant with the name of the user who runs the
command. The admission policy `tenancy-deleter` rejects the annotation if it names a user other than the
sender of the request. The annotation also contains the uid of the Tenant. So if somebody creates a copy of
the Tenant, the annotation is not valid in the copy.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import Field

from tenancy.base.labels import DELETER_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.base.model import StoredModel
from tenancy.history.spec_changes import unrecorded_changes
from tenancy.spec.tenant_status import SpecChange

# How long the platform keeps the record of a deleted tenant.
KEPT: Final = timedelta(days=30)
# The separator between the uid and the user name.
SEPARATOR: Final = ":"


class DeletedTenant(StoredModel):
    manifest: dict[str, Any] = Field(description="The last version of the Tenant, without its status.")
    deleted_at: datetime = Field(description="When the deletion began.")
    deleted_by: str = Field(default="", description="The user who ran `tenancy delete`. Empty if unknown.")
    updates: tuple[dict[str, Any], ...] = Field(
        default=(), description="The entries of the stack's history, newest first, in the CLI's format."
    )
    spec_changes: tuple[SpecChange, ...] = Field(
        default=(), description="The changes to the spec that no update has recorded."
    )

    @property
    def name(self) -> str:
        name: str = self.manifest["metadata"]["name"]
        return name

    @property
    def uid(self) -> str:
        uid: str = self.manifest["metadata"]["uid"]
        return uid

    @property
    def expires(self) -> datetime:
        """The time after which the platform removes the record."""
        return self.deleted_at + KEPT


def deleted_tenant(tenant: Manifest, updates: Sequence[dict[str, Any]]) -> DeletedTenant:
    """The record of a Tenant that is being deleted. `updates` are the entries of its stack's history."""
    metadata = tenant["metadata"]
    kept = {key: metadata[key] for key in ("name", "uid", "labels", "annotations") if key in metadata}
    manifest = {"apiVersion": tenant["apiVersion"], "kind": tenant["kind"], "metadata": kept}
    return DeletedTenant(
        manifest={**manifest, "spec": tenant.get("spec") or {}},
        deleted_at=metadata["deletionTimestamp"],
        deleted_by=deleter(tenant),
        updates=tuple(updates),
        spec_changes=unrecorded_changes(tenant.get("status")),
    )


def deleter_annotation(tenant: Manifest, user: str) -> str:
    """The value of the annotation, in the format UID:USER. `user` is the user who deletes the Tenant."""
    return f"{tenant['metadata']['uid']}{SEPARATOR}{user}"


def deleter(tenant: Manifest) -> str:
    """The user in the Tenant's annotation.

    Empty if the Tenant has no annotation, or if the annotation contains the uid of another Tenant.
    """
    value = (tenant["metadata"].get("annotations") or {}).get(DELETER_ANNOTATION, "")
    uid, _, user = str(value).partition(SEPARATOR)
    return user if uid == tenant["metadata"]["uid"] else ""
