"""The feed sends each changed row once. A slow stream does not delay other streams."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import pytest

from watcher.page.live_feed import Changes, Feed
from watcher.view import TenantRow

BURST = 2000


def row_of(name: str, plan: str) -> TenantRow:
    return TenantRow(
        name=name,
        api_version="platform.ai/v1",
        plan=plan,
        phase="Active",
        namespaces=1,
        quotas=(),
        created="",
    )


class Tenants(dict[str, str]):
    """The plan of each tenant. `row_count` is the number of rows that were computed."""

    row_count = 0

    def row(self, name: str) -> TenantRow | None:
        self.row_count += 1
        return row_of(name, self[name]) if name in self else None


@pytest.fixture
def tenants() -> Tenants:
    return Tenants()


@pytest.fixture
def feed(tenants: Tenants) -> Iterator[Feed]:
    feed = Feed(tenants.row)
    feed.start()
    yield feed
    feed.stop()
    feed.join()


async def next_plans(changes: AsyncIterator[Changes]) -> dict[str, str | None]:
    """The plan of each tenant in the next changes. The plan of a deleted tenant is None."""
    rows = await asyncio.wait_for(anext(changes), 30)
    return {name: json.loads(row)["plan"] if row else None for name, row in rows.items()}


async def open_stream(feed: Feed) -> tuple[AsyncIterator[Changes], "asyncio.Task[dict[str, str | None]]"]:
    """Open a stream. Returns the stream, and a task that waits for its first changes."""
    changes = feed.changes()
    first = asyncio.create_task(next_plans(changes))
    await asyncio.sleep(0)
    return changes, first


def test_only_changed_rows_are_sent(feed: Feed, tenants: Tenants) -> None:
    async def scenario() -> None:
        changes, first = await open_stream(feed)
        tenants["a"] = "basic"
        feed.mark_changed("a")
        assert await first == {"a": "basic"}
        feed.mark_changed("a")
        tenants["b"] = "pro"
        feed.mark_changed("b")
        assert await next_plans(changes) == {"b": "pro"}
        del tenants["a"]
        feed.mark_changed("a")
        feed.mark_changed("never-was")
        assert await next_plans(changes) == {"a": None}

    asyncio.run(scenario())
    assert [json.loads(row)["name"] for row in feed.rows()] == ["b"]


def test_burst_of_changes_computes_few_rows(feed: Feed, tenants: Tenants) -> None:
    async def scenario() -> None:
        _, first = await open_stream(feed)
        for number in range(BURST):
            tenants["a"] = f"plan-{number}"
            feed.mark_changed("a")
        await first

    asyncio.run(scenario())
    assert tenants.row_count < BURST / 10


def test_slow_stream_gets_only_the_newest_row_of_each_tenant(feed: Feed, tenants: Tenants) -> None:
    async def scenario() -> None:
        slow_stream, first = await open_stream(feed)
        tenants["a"] = "basic"
        feed.mark_changed("a")
        assert await first
        fast_stream, next_of_fast = await open_stream(feed)
        for number in range(5):
            tenants["a"] = f"plan-{number}"
            feed.mark_changed("a")
            assert await next_of_fast == {"a": f"plan-{number}"}
            next_of_fast = asyncio.create_task(next_plans(fast_stream))
        # The feed sends changes to all streams in order. When a stream gets this change, it has all changes
        # above.
        tenants["b"] = "basic"
        feed.mark_changed("b")
        assert await next_of_fast == {"b": "basic"}
        # The slow stream has missed several rows of tenant a. It gets only the newest of them.
        assert (await next_plans(slow_stream))["a"] == "plan-4"

    asyncio.run(scenario())


def test_failed_row_does_not_stop_others(tenants: Tenants) -> None:
    def row(name: str) -> TenantRow | None:
        if name == "broken":
            raise KeyError(name)
        return tenants.row(name)

    feed = Feed(row)
    feed.start()

    async def scenario() -> None:
        changes, first = await open_stream(feed)
        feed.mark_changed("broken")
        tenants["whole"] = "basic"
        feed.mark_changed("whole")
        assert await first == {"whole": "basic"}
        feed.stop()
        assert [rows async for rows in changes] == []

    asyncio.run(scenario())
    feed.join()


def test_stream_ends_with_the_feed(feed: Feed) -> None:
    async def scenario() -> list[Changes]:
        async with aclosing(feed.changes()) as changes:
            ended = asyncio.create_task(_all(changes))
            await asyncio.sleep(0)
            feed.stop()
            return await asyncio.wait_for(ended, 30)

    assert asyncio.run(scenario()) == []


async def _all(changes: AsyncIterator[Changes]) -> list[Changes]:
    return [rows async for rows in changes]


def test_dead_feed_is_not_healthy(feed: Feed) -> None:
    assert feed.not_healthy() == []
    feed.stop()
    feed.join()
    assert feed.not_healthy() == ["thread died: page feed"]
