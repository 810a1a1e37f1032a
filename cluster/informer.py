"""A live copy of all objects of one kind: list once, then watch for ever.

Reconnects from where it was; lists again when the server no longer knows that place.
Handlers are called on the informer's thread and must only note what to do.
"""

import threading
from collections.abc import Callable
from typing import Final

import structlog

from cluster.client import Cluster, ClusterError, WatchExpired
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest, ObjectKey, object_key

log = structlog.get_logger(__name__)

_RETRY_S: Final = (0.2, 1.0, 5.0, 15.0)

# Called with the object before and after: None before it was, None after it is gone.
OnChange = Callable[[Manifest | None, Manifest | None], None]


class Informer(threading.Thread):
    """Keeps a copy of what the cluster has, and tells of each change once."""

    def __init__(
        self,
        cluster: Cluster,
        kind: Kind,
        on_change: OnChange,
        selector: str = "",
        is_metadata_only: bool = False,
        *,
        namespace: str = "",
        name: str = "",
    ) -> None:
        super().__init__(name=f"watch {kind.kind} {kind.api_version}", daemon=True)
        self.kind = kind
        self.is_synced = threading.Event()
        self._cluster = cluster
        self._selector = selector
        self._place = {"namespace": namespace, "name": name}
        self._is_metadata_only = is_metadata_only
        self._on_change = on_change
        self._objects: dict[ObjectKey, Manifest] = {}
        self._stopping = threading.Event()
        self._no_wait = threading.Event()
        self._version: str | None = None
        self._failures = 0

    def get(self, key: ObjectKey) -> Manifest | None:
        return self._objects.get(key)

    def known(self) -> list[ObjectKey]:
        return list(self._objects)

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._version is None:
                    self._list()
                self._watch()
            except ClusterError as error:
                if isinstance(error, WatchExpired):
                    self._version = None
                log.warning("watch broke", kind=self.kind.kind, problem=str(error))
                self._no_wait.wait(_RETRY_S[min(self._failures, len(_RETRY_S) - 1)])
                self._no_wait.clear()
                self._failures += 1

    def retry_now(self) -> None:
        """Ends the wait after a failure: what it failed for may be gone."""
        self._failures = 0
        self._no_wait.set()

    def stop(self) -> None:
        self._stopping.set()
        self._no_wait.set()

    def drop(self) -> None:
        """Stops, and forgets the objects: their kind is gone."""
        self.stop()
        self.is_synced.set()  # Nobody is to wait for a list that never comes.
        for key in list(self._objects):
            self._put(key, None)

    def _list(self) -> None:
        items, version = self._cluster.list(
            self.kind, self._selector, is_metadata_only=self._is_metadata_only, **self._place
        )
        found = {object_key(item): item for item in items}
        for key in self._objects.keys() - found.keys():
            self._put(key, None)
        for key, item in found.items():
            known = self._objects.get(key)
            if known is None or known["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
                self._put(key, item)
        self._version = version
        self.is_synced.set()

    def _watch(self) -> None:
        assert self._version is not None
        events = self._cluster.watch(
            self.kind,
            self._version,
            self._selector,
            is_metadata_only=self._is_metadata_only,
            **self._place,
        )
        for event, item in events:
            self._failures = 0
            if event != "BOOKMARK":
                self._put(object_key(item), None if event == "DELETED" else item)
            self._version = item["metadata"]["resourceVersion"]
            if self._stopping.is_set():
                return

    def _put(self, key: ObjectKey, item: Manifest | None) -> None:
        before = self._objects.get(key)
        self._keep(key, item)
        try:
            self._on_change(before, item)
        except ClusterError:
            self._keep(key, before)  # Not taken in: the next list or watch tells of it again.
            raise

    def _keep(self, key: ObjectKey, item: Manifest | None) -> None:
        if item is None:
            self._objects.pop(key, None)
        else:
            self._objects[key] = item
