"""Watches the objects of one kind, and records when the watch reports an expected change."""

import threading
import time
from collections.abc import Callable
from typing import Final

from cluster.client import Cluster
from cluster.informer import Informer
from embedded.errors import SetupFailed
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest

_TIMEOUT_S: Final = 300.0

# A function that returns whether a change is the expected change. Its arguments are the object before the
# change (None if the object is new) and the object after the change (None if the object was deleted).
IsMatch = Callable[[Manifest | None, Manifest | None], bool]


class Expectation:
    """A change that a watch is expected to report. `text` describes the change in an error message."""

    def __init__(self, text: str, is_match: IsMatch) -> None:
        self._text = text
        self._is_match = is_match
        self._arrived = threading.Event()
        self._at_s = 0.0

    def check(self, before: Manifest | None, after: Manifest | None, at_s: float) -> bool:
        """Return whether this change is the expected change. If it is, store its time `at_s` for `wait`."""
        if not self._is_match(before, after):
            return False
        self._at_s = at_s
        self._arrived.set()
        return True

    def wait(self) -> float:
        """Wait until the watch reports the change. Return the time of the report, from `time.perf_counter`.

        Raises SetupFailed after a timeout.
        """
        if not self._arrived.wait(_TIMEOUT_S):
            raise SetupFailed(
                f"The benchmark failed: the watch did not report within {_TIMEOUT_S:.0f} s that {self._text}."
            )
        return self._at_s


class Events:
    """Watches all objects of a kind that match the label selector."""

    def __init__(self, cluster: Cluster, kind: Kind, selector: str = "") -> None:
        self._expectations: list[Expectation] = []
        self._guard = threading.Lock()
        self._informer = Informer(cluster, kind, self._on_change, selector)
        self._informer.start()
        self._informer.is_synced.wait()

    def expect(self, text: str, is_match: IsMatch) -> Expectation:
        """Start to look for a change. Call this method before you send the request that causes the change."""
        expectation = Expectation(text, is_match)
        with self._guard:
            self._expectations.append(expectation)
        return expectation

    def stop(self) -> None:
        self._informer.stop()

    def _on_change(self, before: Manifest | None, after: Manifest | None) -> None:
        at_s = time.perf_counter()
        with self._guard:
            self._expectations = [
                expectation
                for expectation in self._expectations
                if not expectation.check(before, after, at_s)
            ]


def is_named(name: str, namespace: str = "") -> Callable[[Manifest | None], bool]:
    """Create a function that returns whether an object has this name and namespace.

    For None, the function returns False.
    """

    def check(manifest: Manifest | None) -> bool:
        metadata = (manifest or {}).get("metadata", {})
        return bool(metadata.get("name") == name and metadata.get("namespace", "") == namespace)

    return check
