"""Keeps the objects that this process has written. The informers' copies of them may be older."""

import threading

from tenancy.base.manifest import Manifest


class WrittenObjects:
    """The last written version of each object. Thread-safe."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Manifest] = {}
        self._lock = threading.Lock()

    def put(self, manifest: Manifest) -> Manifest:
        """Remember an object as the API server returned it. Returns the object."""
        with self._lock:
            self._by_uid[manifest["metadata"]["uid"]] = manifest
        return manifest

    def newest(self, seen: Manifest) -> Manifest:
        """The newer of two versions: `seen`, which an informer has received, and the written version."""
        with self._lock:
            written = self._by_uid.get(seen["metadata"]["uid"])
        return written if written is not None and _version(written) > _version(seen) else seen

    def forget(self, manifest: Manifest) -> None:
        """Forget an object that is deleted, or whose written version the informer has received."""
        with self._lock:
            self._by_uid.pop(manifest["metadata"]["uid"], None)


def _version(manifest: Manifest) -> int:
    return int(manifest["metadata"]["resourceVersion"])
