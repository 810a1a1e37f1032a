"""Stores the spec and the history of each deleted tenant for 30 days, by the uid of the Tenant.

In a file backend, the store is a folder beside the folder `.pulumi`. Pulumi does not read this folder. Other
backends have no store.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote

import structlog
from pydantic import ValidationError

from stacks.backend import file_backend_folder, replace_file
from tenancy.history.deleted_tenant import DeletedTenant

log = structlog.get_logger(__name__)

_FOLDER: Final = "deleted-tenants"


class DeletedTenants(Protocol):
    """The store of deleted tenants. Its methods raise OSError if the store cannot be read or written."""

    def put(self, tenant: DeletedTenant) -> None:
        """Store a deleted tenant. If the store contains a tenant with the same uid, replace it."""

    def get(self, uid: str) -> DeletedTenant | None:
        """The deleted tenant with this uid. None if the store does not contain it."""

    def list(self) -> list[DeletedTenant]:
        """All deleted tenants, newest deletion first."""

    def remove_expired(self, now: datetime) -> None:
        """Remove the tenants whose retention time of 30 days is over at the time `now`."""


def deleted_tenants(url: str) -> DeletedTenants | None:
    """The store in the backend with this URL. None if the backend is not a file backend."""
    folder = file_backend_folder(url)
    return DeletedTenantsFolder(folder.parent / _FOLDER) if folder else None


class DeletedTenantsFolder:
    """A folder with one file per deleted tenant."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, tenant: DeletedTenant) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        content = tenant.model_dump_json(by_alias=True).encode()
        replace_file(self._file(tenant.uid), content, self._folder)

    def get(self, uid: str) -> DeletedTenant | None:
        file = self._file(uid)
        return _read(file) if file.exists() else None

    def list(self) -> "list[DeletedTenant]":
        tenants = [tenant for _, tenant in self._all()]
        return sorted(tenants, key=lambda tenant: tenant.deleted_at, reverse=True)

    def remove_expired(self, now: datetime) -> None:
        for file, tenant in self._all():
            if tenant.expires <= now:
                file.unlink(missing_ok=True)

    def _all(self) -> Iterator[tuple[Path, DeletedTenant]]:
        for file in self._folder.glob("*.json"):
            if tenant := _read(file):
                yield file, tenant

    def _file(self, uid: str) -> Path:
        return self._folder / f"{quote(uid, safe='')}.json"


def _read(file: Path) -> DeletedTenant | None:
    """The tenant in the file. None if the file is damaged, or if it no longer exists."""
    try:
        return DeletedTenant.model_validate_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValidationError, UnicodeDecodeError) as error:
        log.warning("cannot read the history of a deleted tenant", file=str(file), problem=str(error))
        return None
