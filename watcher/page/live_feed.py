"""The rows of the page's list of tenants, and a stream of changed rows for each open page.

Informers mark tenants as changed. A thread then computes the rows of all marked tenants, and sends the rows
that have changed to all browsers. A slow browser may miss earlier versions of a tenant's row, but never the
newest one.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final

import structlog

from watcher.view import TenantRow

log = structlog.get_logger(__name__)

# The delay between a change and sending it. Changes within this time are sent together.
_GATHER_S: Final = 0.1

# The tenants' names, each with its new row as JSON. None means that the tenant is deleted.
Changes = Mapping[str, str | None]


class _Listener:
    """The stream to one browser. `unsent` contains the rows that have changed since the last send."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.has_changed = asyncio.Event()
        self.unsent: dict[str, str | None] = {}
        self.is_closed = False

    def add(self, changes: Changes) -> None:
        self.unsent.update(changes)
        self.has_changed.set()

    def close(self) -> None:
        self.is_closed = True
        self.has_changed.set()


class Feed(threading.Thread):
    """Keeps the rows of all tenants, and sends changed rows to all open streams."""

    def __init__(self, row: Callable[[str], TenantRow | None]) -> None:
        """`row` returns the current row of a tenant, or None if there is no such tenant."""
        super().__init__(name="page feed", daemon=True)
        self._row = row
        self._rows: dict[str, str] = {}
        self._changed: set[str] = set()
        self._condition = threading.Condition()
        self._listeners: set[_Listener] = set()
        self._guard = threading.Lock()
        self._stopping = threading.Event()

    def mark_changed(self, tenant: str) -> None:
        """Make the feed's thread compute the tenant's row again. Returns at once."""
        with self._condition:
            self._changed.add(tenant)
            self._condition.notify()

    def rows(self) -> list[str]:
        """All rows as JSON, sorted by the tenant's name."""
        with self._guard:
            return [row for _, row in sorted(self._rows.items())]

    def run(self) -> None:
        while not self._stopping.is_set():
            with self._condition:
                self._condition.wait_for(lambda: self._changed or self._stopping.is_set())
            self._stopping.wait(_GATHER_S)
            with self._condition:
                changed, self._changed = self._changed, set()
            self._send({tenant: row for tenant in sorted(changed) for row in self._changed_rows(tenant)})

    def stop(self) -> None:
        """End the thread and all streams."""
        self._stopping.set()
        with self._condition:
            self._condition.notify()
        with self._guard:
            for listener in self._listeners:
                listener.loop.call_soon_threadsafe(listener.close)

    def not_healthy(self) -> list[str]:
        return [f"thread died: {self.name}"] if self.ident and not self.is_alive() else []

    async def changes(self) -> AsyncGenerator[Changes, None]:
        """Yield all changes from now on, until the feed stops. Must run on an asyncio event loop."""
        listener = _Listener()
        with self._guard:
            self._listeners.add(listener)
        try:
            while not self._stopping.is_set():
                await listener.has_changed.wait()
                listener.has_changed.clear()
                if listener.is_closed:
                    return
                changes, listener.unsent = listener.unsent, {}
                yield changes
        finally:
            with self._guard:
                self._listeners.discard(listener)

    def _changed_rows(self, tenant: str) -> list[str | None]:
        """A list with the tenant's new row as JSON, or with None if the tenant is deleted.

        The list is empty if the row has not changed, or if it could not be computed.
        """
        try:
            row = self._row(tenant)
            text = row.model_dump_json(by_alias=True) if row else None
        except Exception:
            log.exception("page row failed", tenant=tenant)
            return []
        return [] if text == self._rows.get(tenant) else [text]

    def _send(self, changes: Changes) -> None:
        if not changes:
            return
        with self._guard:
            for tenant, row in changes.items():
                if row is None:
                    self._rows.pop(tenant, None)
                else:
                    self._rows[tenant] = row
            for listener in self._listeners:
                listener.loop.call_soon_threadsafe(listener.add, changes)
