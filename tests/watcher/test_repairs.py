"""A slip of the hand is told from a fight, however long a repair takes."""

from typing import cast

import pytest

from tenancy.manifest import ObjectKey
from watcher.cluster import Cluster
from watcher.repairs import Repairs

QUOTA = ObjectKey("ResourceQuota", "tenant-a", "tenant-quota")
ROLE = ObjectKey("Role", "tenant-a", "tenant-viewer")


class Rounds:
    """Repairs on a clock of their own. No cluster: what is put back is not their part."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.repairs = Repairs(cast(Cluster, None), lambda: self.now_s)

    def repair(self, *keys: ObjectKey, takes_s: float = 1.0) -> set[ObjectKey]:
        """What counts as fought over when these are found changed."""
        contested = self.repairs.contested(keys)
        self.now_s += takes_s
        self.repairs.ended(keys)
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


def test_each_object_is_counted_alone() -> None:
    rounds = Rounds()
    for _ in range(4):
        rounds.repair(QUOTA)
    assert rounds.repair(QUOTA, ROLE) == {QUOTA}
    assert [rounds.repair(ROLE) for _ in range(4)] == [*[set()] * 3, {ROLE}]


def test_other_repairs_meanwhile_do_not_end_a_fight() -> None:
    rounds = Rounds()
    for _ in range(4):
        rounds.repair(QUOTA)
    rounds.repairs.contested([QUOTA])
    rounds.now_s += 120
    rounds.repair(ROLE)
    rounds.repairs.ended([QUOTA])
    assert rounds.repair(QUOTA) == {QUOTA}
