"""The watcher prunes a history after a number of updates, and all histories once per day.

The tests need no cluster.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import pytest

from stacks.errors import StackError
from stacks.storage.pruning import HistoryLimits, Pruned
from tenancy.base.manifest import Manifest
from tenancy.base.names import stack_name
from tests.waiting import eventually
from watcher.history_pruner import HistoryPruner

LIMITS = HistoryLimits(10, 90)


class PretendedHistories:
    """A fake that records the calls. After pruning, every history has at most 10 updates."""

    def __init__(self) -> None:
        self.pruned: list[list[str]] = []
        self.problem = ""
        self.error: StackError | None = None
        self.expirations = 0
        self.has_expired = threading.Event()
        self.deleted = self

    def prune(self, tenants: Sequence[str], limits: HistoryLimits) -> list[Pruned]:
        assert limits == LIMITS
        self.pruned.append(sorted(tenants))
        if self.error:
            raise self.error
        return [Pruned(stack_name(name), 1, 10, self.problem) for name in tenants]

    def remove_expired(self, now: datetime) -> None:
        assert now.tzinfo is not None
        self.expirations += 1


def tenant(name: str, version: int | None) -> Manifest:
    status = {} if version is None else {"status": {"lastUpdate": {"version": version}}}
    return {"metadata": {"name": name}, **status}


Start = Callable[..., HistoryPruner]


@pytest.fixture
def histories() -> PretendedHistories:
    return PretendedHistories()


@pytest.fixture
def start(histories: PretendedHistories) -> Iterator[Start]:
    started: list[HistoryPruner] = []

    def start_pruner(period_s: float = 3600.0) -> HistoryPruner:
        pruner = HistoryPruner(histories, LIMITS, period_s)  # type: ignore[arg-type]
        started.append(pruner)
        pruner.start()
        return pruner

    yield start_pruner
    for pruner in started:
        pruner.stop()
        for thread in pruner.threads:
            thread.join(30)
            assert not thread.is_alive()


def test_history_is_pruned_when_it_exceeds_the_limit_by_a_tenth(
    histories: PretendedHistories, start: Start
) -> None:
    pruner = start()
    before = tenant("grows", None)
    pruner.notice(None, before)
    for version in range(1, 14):
        after = tenant("grows", version)
        pruner.notice(before, after)
        before = after
        if version in (11, 12, 13):
            eventually(lambda version=version: len(histories.pruned) == version - 10, "the history is pruned")  # type: ignore[misc]
    assert histories.pruned == [["grows"]] * 3
    assert histories.expirations == 1


def test_all_histories_are_pruned_by_one_command_after_a_restart(
    histories: PretendedHistories, start: Start
) -> None:
    pruner = HistoryPruner(histories, LIMITS, 0.05)  # type: ignore[arg-type]
    for name in ("a", "b", "c"):
        pruner.notice(None, tenant(name, 500))
    pruner.notice(tenant("c", 500), None)
    pruner.start()
    eventually(lambda: histories.pruned, "the histories are pruned")
    # The pruner runs again only after a day or after new updates.
    other = start(0.05)
    other.notice(None, tenant("other", 1))
    eventually(lambda: ["other"] in histories.pruned, "another pruner has run")
    pruner.stop()
    assert histories.pruned == [["a", "b"], ["other"]]


def test_locked_or_failed_stack_is_tried_again(histories: PretendedHistories, start: Start) -> None:
    histories.problem = "locked"
    pruner = start(0.05)
    pruner.notice(None, tenant("busy", 3))
    eventually(lambda: len(histories.pruned) > 1, "the stack is tried again")
    histories.problem, histories.error = "", StackError("no backend")
    count = len(histories.pruned)
    eventually(lambda: len(histories.pruned) > count + 1, "the service continues after an error")
    histories.error = None
    eventually(lambda: histories.expirations > 0, "the stack is pruned")
