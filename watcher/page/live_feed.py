"""The rows of all tenants, kept current, and each change told to every browser that listens.

Informers only `note` a tenant; a thread of its own works out the row, once for all changes of a moment, and
tells it only where it has become another. A slow browser costs no more than the rows that it has not taken.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final

import structlog

from watcher.view import TenantRow

log = structlog.get_logger(__name__)

# How long a burst of changes is gathered before it is told.
_GATHER_S: Final = 0.1

# Rows as JSON by the tenant's name; None: the tenant is gone.
Changes = Mapping[str, str | None]


class _Listener:
    """One browser. What it has not taken yet is kept by name, so that only the newest row of each waits."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.news = asyncio.Event()
        self.waiting: dict[str, str | None] = {}
        self.is_closed = False

    def offer(self, changes: Changes) -> None:
        self.waiting.update(changes)
        self.news.set()

    def close(self) -> None:
        self.is_closed = True
        self.news.set()


class Feed(threading.Thread):
    def __init__(self, row: Callable[[str], TenantRow | None]) -> None:
        """`row` gives a tenant's row as it is now; None where there is no such tenant."""
        super().__init__(name="page feed", daemon=True)
        self._row = row
        self._rows: dict[str, str] = {}
        self._noted: set[str] = set()
        self._news = threading.Condition()
        self._listeners: set[_Listener] = set()
        self._guard = threading.Lock()
        self._stopping = threading.Event()

    def note(self, tenant: str) -> None:
        """Something of the tenant may have changed. Called by informers, so it must be quick."""
        with self._news:
            self._noted.add(tenant)
            self._news.notify()

    def rows(self) -> list[str]:
        """All rows, as JSON, by the tenants' names."""
        with self._guard:
            return [row for _, row in sorted(self._rows.items())]

    def run(self) -> None:
        while not self._stopping.is_set():
            with self._news:
                self._news.wait_for(lambda: self._noted or self._stopping.is_set())
            self._stopping.wait(_GATHER_S)
            with self._news:
                noted, self._noted = self._noted, set()
            self._tell({tenant: row for tenant in sorted(noted) for row in self._fresh(tenant)})

    def stop(self) -> None:
        """Ends the thread, and every browser's stream."""
        self._stopping.set()
        with self._news:
            self._news.notify()
        with self._guard:
            for listener in self._listeners:
                listener.loop.call_soon_threadsafe(listener.close)

    def not_healthy(self) -> list[str]:
        return [f"thread died: {self.name}"] if self.ident and not self.is_alive() else []

    async def changes(self) -> AsyncGenerator[Changes, None]:
        """What changes from now on, until the feed stops. Runs on the server's loop."""
        listener = _Listener()
        with self._guard:
            self._listeners.add(listener)
        try:
            while not self._stopping.is_set():
                await listener.news.wait()
                listener.news.clear()
                if listener.is_closed:
                    return
                taken, listener.waiting = listener.waiting, {}
                yield taken
        finally:
            with self._guard:
                self._listeners.discard(listener)

    def _fresh(self, tenant: str) -> list[str | None]:
        """The tenant's row where it has become another than was told last."""
        try:
            row = self._row(tenant)
            text = row.model_dump_json(by_alias=True) if row else None
        except Exception:
            log.exception("row broke", tenant=tenant)
            return []
        return [] if text == self._rows.get(tenant) else [text]

    def _tell(self, changes: Changes) -> None:
        if not changes:
            return
        with self._guard:
            for tenant, row in changes.items():
                if row is None:
                    self._rows.pop(tenant, None)
                else:
                    self._rows[tenant] = row
            for listener in self._listeners:
                listener.loop.call_soon_threadsafe(listener.offer, changes)
