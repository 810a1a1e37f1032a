"""Detects objects that somebody else, such as another controller, changes again after each repair.

Usually, the watcher runs a Pulumi update after each repair, to record the repair in the stack's history. A
repair and this update are one round. After `_ROUNDS` rounds in a row, the object is contested: the watcher
still repairs the object, but no longer records the repairs. When nobody has changed the object for `_REST_S`
seconds, the watcher records repairs again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tenancy.base.errors import TenancyError
from tenancy.base.kinds import KIND_BY_KEY
from tenancy.base.manifest import ObjectKey
from tenancy.base.reasons import Reason

_ROUNDS: Final = 4
# Two rounds are in a row if the object changes again within this time after the first round. The time starts
# when the update of the first round has ended, because the update itself may take longer than this time.
_REST_S: Final = 15.0
# The watcher forgets the rounds of an object after this time. No Pulumi update takes this long.
_FORGET_S: Final = 3600.0


class DriftContested(TenancyError):
    """Somebody else changes an object again after each repair."""

    reason = Reason.DRIFT_CONTESTED

    def __init__(self, key: ObjectKey, cause: str) -> None:
        """`cause` describes who changed which fields and when. It is empty if this is unknown."""
        kind = KIND_BY_KEY[key.kind]
        resource = kind.crd if kind.group else kind.plural
        place = f" -n {key.namespace}" if key.namespace else ""
        by_whom = f" ({cause})" if cause else ""
        super().__init__(
            f"{key} was repaired {_ROUNDS} times in a row, and each time somebody changed it again within "
            f"{_REST_S:g} s{by_whom}; stop the client that changes the object; to list all clients, run: "
            f"kubectl get {resource} {key.name}{place} -o yaml --show-managed-fields"
        )


@dataclass
class _Streak:
    """The consecutive rounds of one object. A round is a repair and the Pulumi update that records it.

    `rounds` is the number of rounds. `last_s` is the time when the last round ended. If the last round has
    not ended yet, `last_s` is the time when the round began. `repair` is the repair of the last round.
    `cause` describes the first change whose client is known. It is empty if no client is known.
    """

    rounds: int
    last_s: float
    repair: object
    cause: str = ""


class ContestedObjects:
    """Counts the consecutive rounds of each object. Thread-safe.

    A round is a repair of the object and the Pulumi update that records the repair.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._streaks: dict[ObjectKey, _Streak] = {}
        self._guard = threading.Lock()

    def in_round(self, repairs: Mapping[ObjectKey, object], keys: Iterable[ObjectKey]) -> set[ObjectKey]:
        """The contested objects in `repairs`. If `repairs` is empty, the contested objects in `keys`.

        If `repairs` is not empty, this method also begins a round (see `begin_round`).
        """
        return self.begin_round(repairs) if repairs else self.ongoing(keys)

    def begin_round(self, repairs: Mapping[ObjectKey, object]) -> set[ObjectKey]:
        """Begin a round for each repaired object. Returns the contested objects in `repairs`.

        A repair begins only one round, even if the update that records the repair is retried.
        """
        now_s = self._now_s()
        with self._guard:
            self._streaks = {
                key: streak for key, streak in self._streaks.items() if now_s - streak.last_s < _FORGET_S
            }
            for key, repair in repairs.items():
                streak = self._streaks.get(key)
                if streak and streak.repair is repair:
                    continue
                if streak is None or now_s - streak.last_s >= _REST_S:
                    streak = _Streak(0, now_s, repair)
                self._streaks[key] = replace(streak, rounds=streak.rounds + 1, last_s=now_s, repair=repair)
            return {key for key in repairs if self._streaks[key].rounds > _ROUNDS}

    def ongoing(self, keys: Iterable[ObjectKey]) -> set[ObjectKey]:
        """The contested objects in `keys` whose last round was less than `_REST_S` seconds ago."""
        now_s = self._now_s()
        with self._guard:
            streaks = {key: streak for key in keys if (streak := self._streaks.get(key))}
        return {
            key
            for key, streak in streaks.items()
            if streak.rounds > _ROUNDS and now_s - streak.last_s < _REST_S
        }

    def cause(self, key: ObjectKey, newest: str) -> str:
        """A text that describes who changed the object and when.

        The text is from the first round of the object for which the client is known. If there is no such
        round, the result is `newest`, the text about the last change. The text contains a time. If the status
        contained the text of the last change, the status would change in each round.
        """
        with self._guard:
            streak = self._streaks.get(key)
            if streak is None:
                return newest
            streak.cause = streak.cause or newest
            return streak.cause

    def end_round(self, repaired: Iterable[ObjectKey]) -> None:
        """End the round of these objects, after the update that records their repairs succeeded or failed."""
        now_s = self._now_s()
        with self._guard:
            for key in repaired:
                if streak := self._streaks.get(key):
                    streak.last_s = now_s
