"""Objects that somebody changes again as often as they are repaired, such as another controller.

Each repair would make Pulumi record an update. After a few rounds in a row the object is still repaired, but
Pulumi does not run until it is left alone.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tenancy.base.errors import TenancyError
from tenancy.base.manifest import ObjectKey

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
    """How often an object was repaired without a rest, when that last began or ended, and the last repair."""

    rounds: int
    last_s: float
    repair: object


class ContestedObjects:
    """Counts the rounds of repair per object. Shared by all workers."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._fights: dict[ObjectKey, _Fight] = {}
        self._guard = threading.Lock()

    def begun(self, repairs: Mapping[ObjectKey, object]) -> set[ObjectKey]:
        """Count a round for each object; return those that had too many of them in a row.

        A repair that was counted before, because its update is tried again, is not counted again.
        """
        now_s = self._now_s()
        with self._guard:
            self._fights = {
                key: fight for key, fight in self._fights.items() if now_s - fight.last_s < _FORGET_S
            }
            for key, repair in repairs.items():
                fight = self._fights.get(key)
                if fight and fight.repair is repair:
                    continue
                rounds = fight.rounds if fight and now_s - fight.last_s < _REST_S else 0
                self._fights[key] = _Fight(rounds + 1, now_s, repair)
            return {key for key in repairs if self._fights[key].rounds > _ROUNDS}

    def ongoing(self, keys: Iterable[ObjectKey]) -> set[ObjectKey]:
        """Those of the objects that had too many rounds in a row, and were not left alone since."""
        now_s = self._now_s()
        with self._guard:
            fights = {key: fight for key in keys if (fight := self._fights.get(key))}
        return {
            key for key, fight in fights.items() if fight.rounds > _ROUNDS and now_s - fight.last_s < _REST_S
        }

    def ended(self, repaired: Iterable[ObjectKey]) -> None:
        """Record that the round of these objects has ended, with success or not."""
        now_s = self._now_s()
        with self._guard:
            for key in repaired:
                if fight := self._fights.get(key):
                    fight.last_s = now_s
