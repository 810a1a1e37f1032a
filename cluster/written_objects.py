"""Keeps the objects that this process has written, because an informer receives them only later."""

import threading

from tenancy.base.manifest import Manifest


class WrittenObjects:
    """Stores the last written version of each object that this process has written. Thread-safe."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Manifest] = {}
        self._lock = threading.Lock()

    def put(self, manifest: Manifest) -> Manifest:
        """Store the object that the API server returned after a write, and return this object."""
        with self._lock:
            self._by_uid[manifest["metadata"]["uid"]] = manifest
        return manifest

    def newest(self, seen: Manifest) -> Manifest:
        """Return the newer version of an object: `seen`, or the version that this process has written.

        `seen` is the version that an informer has received.
        """
        with self._lock:
            written = self._by_uid.get(seen["metadata"]["uid"])
        return written if written is not None and _version(written) > _version(seen) else seen

    def forget(self, manifest: Manifest) -> None:
        """Discard the stored version of an object.

        Call this when the object is deleted, or when the informer has received the written version.
        """
        with self._lock:
            self._by_uid.pop(manifest["metadata"]["uid"], None)


def _version(manifest: Manifest) -> int:
    return int(manifest["metadata"]["resourceVersion"])
