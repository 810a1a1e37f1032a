"""A local copy of the objects of one kind. The informer lists the objects once, and then watches them.

After an error, the informer watches again from the last resource version. If the server rejects that version,
the informer lists the objects again. The informer calls the function `on_change` for each change. This
function runs on the informer's thread, so it must return quickly.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError, WatchExpired
from tenancy.base.backoff import WATCH
from tenancy.base.kinds import TENANTS, Kind
from tenancy.base.manifest import Manifest, ObjectKey, object_key

log = structlog.get_logger(__name__)

# A watch that ends within this time without an event counts as failed. The retry delay then prevents a busy
# loop.
_SHORT_WATCH_S: Final = 1.0

# Time between two comparisons of the copy with a list.
_CURRENT_POLL_S: Final = 0.05

# Arguments: the old object (None if the object is new) and the new object (None if the object was deleted).
OnChange = Callable[[Manifest | None, Manifest | None], None]


class Informer(threading.Thread):
    """Keeps a copy of the objects, and calls `on_change` for each change. Any thread may read the copy.

    In the copy, only Tenants have the field `metadata.managedFields`. Other objects do not have it, because
    it can be large.
    """

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
        self._scope = {"namespace": namespace, "name": name}
        self._is_metadata_only = is_metadata_only
        self._on_change = on_change
        self._objects: dict[ObjectKey, Manifest] = {}
        self._stopping = threading.Event()
        self._retry_now = threading.Event()
        self._version: str | None = None
        self._failures = 0

    def get(self, key: ObjectKey) -> Manifest | None:
        return self._objects.get(key)

    def object_keys(self) -> list[ObjectKey]:
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
                log.warning("watch failed", kind=self.kind.kind, problem=str(error))
                self._retry_now.wait(WATCH.wait_s(self._failures))
                self._retry_now.clear()
                self._failures += 1

    def retry_now(self) -> None:
        """Retry a failed watch now, without further delay. Call this if the next attempt may succeed."""
        self._failures = 0
        self._retry_now.set()

    def await_current(self) -> None:
        """Wait until the copy contains all changes that were made before this call, or until `stop`.

        A watch can lag behind. If its connection is lost, the informer notices this only after a timeout.
        """
        listed: dict[ObjectKey, int] | None = None
        newest = 0
        while not self._stopping.is_set():
            try:
                if listed is None:
                    items, version = self._cluster.list(
                        self.kind, self._selector, is_metadata_only=True, **self._scope
                    )
                    listed, newest = {object_key(item): _version(item) for item in items}, int(version)
                if self._contains(listed, newest):
                    return
            except ClusterError as error:
                log.warning("list failed", kind=self.kind.kind, problem=str(error))
            self._stopping.wait(_CURRENT_POLL_S)

    def _contains(self, listed: Mapping[ObjectKey, int], newest: int) -> bool:
        """Whether the copy is as new as this list, which has the resource version `newest`."""
        if self._version is not None and int(self._version) >= newest:
            return True
        copies = {key: _version(item) for key, item in list(self._objects.items())}
        is_complete = all(copies.get(key, -1) >= version for key, version in listed.items())
        return is_complete and all(key in listed or version > newest for key, version in copies.items())

    def stop(self) -> None:
        self._stopping.set()
        self._retry_now.set()

    def stop_and_clear(self) -> None:
        """Stop the informer, and call `on_change` for each object as if it was deleted.

        Call this method if the cluster no longer serves the kind.
        """
        self.stop()
        self.is_synced.set()  # Otherwise, threads would wait forever for the first list.
        for key in list(self._objects):
            self._put(key, None)

    def _list(self) -> None:
        items, version = self._cluster.list(
            self.kind, self._selector, is_metadata_only=self._is_metadata_only, **self._scope
        )
        listed = {object_key(item): item for item in items}
        for key in self._objects.keys() - listed.keys():
            self._put(key, None)
        for key, item in listed.items():
            before = self._objects.get(key)
            if before is None or before["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
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
            **self._scope,
        )
        started_s, has_events = time.monotonic(), False
        for event, item in events:
            if self._stopping.is_set():
                return
            self._failures, has_events = 0, True
            if event != "BOOKMARK":
                self._put(object_key(item), None if event == "DELETED" else item)
            self._version = item["metadata"]["resourceVersion"]
        if not has_events and time.monotonic() - started_s < _SHORT_WATCH_S:
            raise ClusterError("the API server ended the watch immediately and sent no events")

    def _put(self, key: ObjectKey, item: Manifest | None) -> None:
        if item is not None and self.kind not in TENANTS:
            item["metadata"].pop("managedFields", None)
        before = self._objects.get(key)
        self._store(key, item)
        try:
            self._on_change(before, item)
        except ClusterError:
            self._store(key, before)  # The retry calls `on_change` again for this change.
            raise
        except Exception:
            # An unexpected object must not end the informer, because it also watches all other objects.
            log.exception("change not handled", kind=self.kind.kind, object=str(key))

    def _store(self, key: ObjectKey, item: Manifest | None) -> None:
        if item is None:
            self._objects.pop(key, None)
        else:
            self._objects[key] = item


def _version(item: Manifest) -> int:
    """The resource version. Kubernetes defines that newer versions are greater numbers."""
    return int(item["metadata"]["resourceVersion"])


def not_synced(informers: Iterable[Informer]) -> list[str]:
    """One message for each informer that has not completed its first list request."""
    kinds = [informer.kind for informer in informers if not informer.is_synced.is_set()]
    return [f"not listed yet: {kind.plural} of {kind.api_version}" for kind in kinds]
