"""An object that changes again after each repair is contested.

An object with single edits is not contested.
"""

import pytest

from tenancy.base.manifest import ObjectKey
from watcher.reconciler.contested_objects import ContestedObjects

QUOTA = ObjectKey("ResourceQuota", "tenant-a", "tenant-quota")
ROLE = ObjectKey("Role", "tenant-a", "tenant-viewer")


class Rounds:
    """Runs rounds of repair with a simulated clock."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.contested = ContestedObjects(lambda: self.now_s)

    def repair(self, *keys: ObjectKey, takes_s: float = 1.0) -> set[ObjectKey]:
        """Run one round, which repairs these objects and takes `takes_s` seconds.

        Returns the contested objects.
        """
        contested = self.contested.begin_round({key: object() for key in keys})
        self.now_s += takes_s
        self.contested.end_round(keys)
        return contested


@pytest.mark.parametrize("takes_s", [0.0, 1.0, 120.0])
def test_fifth_repair_in_a_row_is_contested_however_long_each_takes(takes_s: float) -> None:
    rounds = Rounds()
    assert [rounds.repair(QUOTA, takes_s=takes_s) for _ in range(6)] == [*[set()] * 4, {QUOTA}, {QUOTA}]


def test_object_that_was_left_alone_for_a_while_is_no_longer_contested() -> None:
    rounds = Rounds()
    for _ in range(5):
        rounds.repair(QUOTA)
    rounds.now_s += 15
    assert rounds.repair(QUOTA) == set()
    rounds.now_s += 14
    for _ in range(3):
        assert rounds.repair(QUOTA) == set()
    assert rounds.repair(QUOTA) == {QUOTA}


def test_rounds_are_counted_per_object() -> None:
    rounds = Rounds()
    for _ in range(4):
        rounds.repair(QUOTA)
    assert rounds.repair(QUOTA, ROLE) == {QUOTA}
    assert [rounds.repair(ROLE) for _ in range(4)] == [*[set()] * 3, {ROLE}]


def test_repairs_of_other_objects_do_not_reset_the_count() -> None:
    rounds = Rounds()
    for _ in range(4):
        rounds.repair(QUOTA)
    rounds.contested.begin_round({QUOTA: object()})
    rounds.now_s += 120
    rounds.repair(ROLE)
    rounds.contested.end_round([QUOTA])
    assert rounds.repair(QUOTA) == {QUOTA}


def test_retried_update_is_not_counted_as_another_round() -> None:
    rounds, repair = Rounds(), object()
    for _ in range(9):
        assert rounds.contested.begin_round({QUOTA: repair}) == set()
        rounds.now_s += 1
        rounds.contested.end_round([QUOTA])


def test_object_stays_contested_until_it_is_left_alone() -> None:
    rounds = Rounds()
    for _ in range(5):
        rounds.repair(QUOTA)
    assert rounds.contested.ongoing([QUOTA, ROLE]) == {QUOTA}
    rounds.now_s += 15
    assert rounds.contested.ongoing([QUOTA]) == set()


def test_cause_stays_the_same_until_the_object_is_left_alone() -> None:
    rounds = Rounds()
    for number in range(5):
        rounds.repair(QUOTA)
        assert rounds.contested.cause(QUOTA, f"rival at {number}") == "rival at 0"
    assert rounds.contested.cause(QUOTA, "") == "rival at 0"
    rounds.now_s += 15
    rounds.repair(QUOTA)
    assert rounds.contested.cause(QUOTA, "rival at 9") == "rival at 9"
