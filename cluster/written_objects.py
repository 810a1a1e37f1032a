"""Read-your-writes: the newest version of objects that this process has written."""

import threading

from tenancy.base.manifest import Manifest


class WrittenObjects:
    """Objects as last written, until an informer has seen that version. Thread-safe."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Manifest] = {}
        self._lock = threading.Lock()

    def put(self, manifest: Manifest) -> Manifest:
        """Remember an object as the API server returned it. Returns the object."""
        with self._lock:
            self._by_uid[manifest["metadata"]["uid"]] = manifest
        return manifest

    def newest(self, seen: Manifest) -> Manifest:
        """The newer of the informer's version and the written one."""
        with self._lock:
            written = self._by_uid.get(seen["metadata"]["uid"])
        return written if written is not None and _version(written) > _version(seen) else seen

    def forget(self, manifest: Manifest) -> None:
        """Forget an object that is deleted, or whose written version the informer has seen."""
        with self._lock:
            self._by_uid.pop(manifest["metadata"]["uid"], None)


def _version(manifest: Manifest) -> int:
    return int(manifest["metadata"]["resourceVersion"])
