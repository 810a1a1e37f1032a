"""Objects that somebody changes again as often as they are repaired, such as another controller.

Each repair would make Pulumi record an update. After a few rounds in a row the object is still repaired, but
Pulumi does not run until it is left alone.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tenancy.errors import TenancyError
from tenancy.manifest import ObjectKey

_ROUNDS: Final = 4
# Counted from the end of the update: on a slow cluster an update itself may take longer.
_REST_S: Final = 15.0
# Longer than any update takes.
_FORGET_S: Final = 3600.0


class DriftContested(TenancyError):
    """An object is changed again as often as it is put back."""

    reason = "DriftContested"

    def __init__(self, key: ObjectKey) -> None:
        super().__init__(
            f"{key} was put back {_ROUNDS} times in a row and is changed again within {_REST_S:g} s "
            "each time; find who writes it: kubectl get --show-managed-fields"
        )


@dataclass
class _Fight:
    """How often an object was put back without a rest, and when that last began or ended."""

    rounds: int
    last_s: float


class ContestedObjects:
    """Counts the rounds of repair per object. Shared by all workers."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._fights: dict[ObjectKey, _Fight] = {}
        self._guard = threading.Lock()

    def begun(self, repaired: Iterable[ObjectKey]) -> set[ObjectKey]:
        """Count a round for each of these; return those that had too many of them in a row."""
        now_s = self._now_s()
        contested = set()
        with self._guard:
            self._fights = {
                key: fight for key, fight in self._fights.items() if now_s - fight.last_s < _FORGET_S
            }
            for key in repaired:
                fight = self._fights.get(key)
                rounds = fight.rounds if fight and now_s - fight.last_s < _REST_S else 0
                if rounds >= _ROUNDS:
                    contested.add(key)
                self._fights[key] = _Fight(rounds + 1, now_s)
        return contested

    def ended(self, repaired: Iterable[ObjectKey]) -> None:
        """Record that the round of these objects has ended, with success or not."""
        now_s = self._now_s()
        with self._guard:
            for key in repaired:
                if fight := self._fights.get(key):
                    fight.last_s = now_s
