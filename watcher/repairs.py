"""What was repaired lately, to tell a slip of the hand from a fight.

Somebody who changes an object again and again, such as another controller, would keep Pulumi running for
ever. After a few rounds the tenant waits longer each time, and its status says who the matter is with.
"""

import time
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Final

from tenancy.errors import TenancyError
from tenancy.manifest import ObjectKey

_ROUNDS: Final = 4
_WITHIN_S: Final = 60.0


class DriftContested(TenancyError):
    """An object is changed again as often as it is put back."""

    reason = "DriftContested"

    def __init__(self, key: ObjectKey) -> None:
        super().__init__(
            f"{key} was put back {_ROUNDS} times within {_WITHIN_S:g} s and is changed again each time; "
            "find who writes it: kubectl get --show-managed-fields"
        )


class RepairLog:
    def __init__(self) -> None:
        self._times: defaultdict[ObjectKey, deque[float]] = defaultdict(lambda: deque(maxlen=_ROUNDS))

    def contested(self, found: Iterable[ObjectKey]) -> ObjectKey | None:
        """Notes these repairs; returns an object that needed too many of them."""
        now = time.monotonic()
        fought = None
        for key in found:
            times = self._times[key]
            if len(times) == _ROUNDS and now - times[0] < _WITHIN_S:
                fought = key
            times.append(now)
        self._times = defaultdict(
            self._times.default_factory,
            {key: times for key, times in self._times.items() if now - times[-1] < _WITHIN_S},
        )
        return fought
