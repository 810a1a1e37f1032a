"""The work queue contains each tenant at most once, and only one worker at a time gets a tenant.

After a failure, the queue waits before it retries a tenant. A new spec ends this wait.
"""

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


def test_tenant_added_while_it_is_worked_on_is_taken_again_after_done() -> None:
    queue = TenantQueue()
    queue.add("a")
    assert queue.take() == "a"
    queue.add("a")
    assert queue.depth() == 0
    queue.done("a")
    assert queue.depth() == 1
    assert queue.take() == "a"


def test_backoff_doubles_up_to_a_cap() -> None:
    queue = TenantQueue()
    waits_s = []
    for _ in range(12):
        queue.add("a")
        with queue._changed:  # Take the tenant without waiting for its backoff.
            queue._working.add("a")
        waits_s.append(queue.failed("a"))
    assert waits_s[:4] == [1.0, 2.0, 4.0, 8.0]
    assert waits_s[-1] == 300.0


def test_failed_tenant_waits_even_if_it_is_added_again() -> None:
    queue = TenantQueue()
    queue.add("a")
    assert queue.take() == "a"
    queue.failed("a")
    queue.add("a")
    queue.add("b")
    assert queue.take() == "b"
    assert queue.depth() == 1


def test_new_spec_ends_and_resets_the_backoff() -> None:
    queue = TenantQueue()
    for expected_s in (1.0, 1.0):
        queue.add_now("a")
        assert queue.take() == "a"
        assert queue.failed("a") == expected_s
    queue.add_now("a")
    assert queue.take() == "a"


def test_tenant_with_a_new_spec_during_a_failure_is_taken_at_once() -> None:
    queue = TenantQueue()
    queue.add("a")
    assert queue.take() == "a"
    queue.add_now("a")
    assert queue.failed("a") == 0.0
    assert queue.take() == "a"


def test_close_ends_waiting_workers() -> None:
    queue = TenantQueue()
    taken: list[str | None] = []
    worker = threading.Thread(target=lambda: taken.append(queue.take()))
    worker.start()
    queue.close()
    worker.join(10)
    assert taken == [None]


def test_delayed_tenant_is_taken_when_due() -> None:
    queue = TenantQueue()
    queue.add("a", after_s=0.05)
    assert eventually(queue.take, "the tenant is due") == "a"
