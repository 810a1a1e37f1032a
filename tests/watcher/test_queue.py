"""The queue: once per tenant, one worker at a time, and a wait after failure that a new spec ends."""

import threading

from tests.waiting import eventually
from watcher.queue import TenantQueue


def test_tenant_added_twice_is_taken_once() -> None:
    queue = TenantQueue()
    queue.add("a")
    queue.add("a")
    queue.add("b")
    assert {queue.take(), queue.take()} == {"a", "b"}
    assert queue.depth() == 0


def test_what_comes_while_a_tenant_is_worked_on_is_done_right_after() -> None:
    queue = TenantQueue()
    queue.add("a")
    assert queue.take() == "a"
    queue.add("a")
    assert queue.depth() == 0
    queue.done("a")
    assert queue.depth() == 1
    assert queue.take() == "a"


def test_waits_double_up_to_a_cap() -> None:
    queue = TenantQueue()
    waits = []
    for _ in range(12):
        queue.add("a")
        with queue._changed:  # Its wait is not ours to sit out.
            queue._working.add("a")
        waits.append(queue.failed("a"))
    assert waits[:4] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == 300.0


def test_failed_tenant_waits_whatever_else_happens() -> None:
    queue = TenantQueue()
    queue.add("a")
    assert queue.take() == "a"
    queue.failed("a")
    queue.add("a")
    queue.add("b")
    assert queue.take() == "b"
    assert queue.depth() == 1


def test_new_spec_ends_the_wait_and_forgives() -> None:
    queue = TenantQueue()
    for expected_s in (1.0, 1.0):
        queue.add_now("a")
        assert queue.take() == "a"
        assert queue.failed("a") == expected_s
    queue.add_now("a")
    assert queue.take() == "a"


def test_new_spec_that_comes_during_a_failure_is_done_at_once() -> None:
    queue = TenantQueue()
    queue.add("a")
    assert queue.take() == "a"
    queue.add_now("a")
    assert queue.failed("a") == 0.0
    assert queue.take() == "a"


def test_closing_sends_the_workers_home() -> None:
    queue = TenantQueue()
    taken: list[str | None] = []
    worker = threading.Thread(target=lambda: taken.append(queue.take()))
    worker.start()
    queue.close()
    worker.join(10)
    assert taken == [None]


def test_later_work_comes_when_it_is_due() -> None:
    queue = TenantQueue()
    queue.add("a", after_s=0.05)
    assert eventually(queue.take, "the tenant is due") == "a"
