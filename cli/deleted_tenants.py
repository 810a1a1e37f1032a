"""Reads deleted tenants. The state backend keeps the history of a deleted tenant for 30 days."""

from cli.connection import Connection
from stacks.history import updates_from_entries
from tenancy.history.deleted_tenant import DeletedTenant
from watcher.history_view import UpdateView, history_view


def read_deleted(connection: Connection, name: str = "") -> list[DeletedTenant]:
    """The deleted tenants with this name, newest deletion first. If `name` is empty, all deleted tenants."""
    with connection.stacks() as stacks:
        tenants = stacks.histories.deleted.list()
    return [tenant for tenant in tenants if name in ("", tenant.name)]


def deleted_history(tenant: DeletedTenant) -> list[UpdateView]:
    """The entries in the history of a deleted tenant, newest first."""
    return history_view(updates_from_entries(tenant.updates), tenant.spec_changes)
