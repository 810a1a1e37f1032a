"""Stores the spec and the history of each deleted tenant for 30 days, by the uid of the Tenant.

The store consists of objects in the backend, beside the folder `.pulumi`. Pulumi does not read them.
"""

from datetime import datetime
from typing import Final
from urllib.parse import quote

import structlog
from pydantic import ValidationError

from stacks.storage.objects import Objects
from tenancy.history.deleted_tenant import DeletedTenant

log = structlog.get_logger(__name__)

_PREFIX: Final = "deleted-tenants/"


class DeletedTenants:
    """The store. Its methods raise OSError or StackError if the backend cannot be read or written."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def put(self, tenant: DeletedTenant) -> None:
        """Store a deleted tenant. If the store contains a tenant with the same uid, replace it."""
        self._objects.write(_key(tenant.uid), tenant.model_dump_json(by_alias=True).encode())

    def get(self, uid: str) -> DeletedTenant | None:
        """The deleted tenant with this uid. None if there is none."""
        key = _key(uid)
        content = self._objects.read(key).get(key)
        return _tenant(key, content) if content is not None else None

    def list(self) -> "list[DeletedTenant]":
        """All deleted tenants, newest deletion first."""
        tenants = self._all().values()
        return sorted(tenants, key=lambda tenant: tenant.deleted_at, reverse=True)

    def remove_expired(self, now: datetime) -> None:
        """Remove the tenants whose retention time of 30 days is over at the time `now`."""
        for key, tenant in self._all().items():
            if tenant.expires <= now:
                self._objects.delete(key)

    def _all(self) -> dict[str, DeletedTenant]:
        tenants = {
            key: _tenant(key, content)
            for key, content in self._objects.read(_PREFIX).items()
            if key.endswith(".json")
        }
        return {key: tenant for key, tenant in tenants.items() if tenant}


def _key(uid: str) -> str:
    return f"{_PREFIX}{quote(uid, safe='')}.json"


def _tenant(key: str, content: bytes) -> DeletedTenant | None:
    """The tenant in an object. None if the object is damaged."""
    try:
        return DeletedTenant.model_validate_json(content)
    except (ValidationError, UnicodeDecodeError) as error:
        log.warning("cannot read the history of a deleted tenant", object=key, problem=str(error))
        return None
