"""Changes are told once, in bursts, and a browser that takes nothing holds up nobody."""

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
    """Plans by tenant, and how often a row was asked for."""

    asked = 0

    def row(self, name: str) -> TenantRow | None:
        self.asked += 1
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


async def taken(changes: AsyncIterator[Changes]) -> dict[str, str | None]:
    """The plans in the next changes; None for what is gone."""
    found = await asyncio.wait_for(anext(changes), 30)
    return {name: json.loads(row)["plan"] if row else None for name, row in found.items()}


async def listening(feed: Feed) -> tuple[AsyncIterator[Changes], "asyncio.Task[dict[str, str | None]]"]:
    """A browser that listens already, and what it will take first."""
    changes = feed.changes()
    first = asyncio.create_task(taken(changes))
    await asyncio.sleep(0)
    return changes, first


def test_only_a_row_that_has_become_another_is_told(feed: Feed, tenants: Tenants) -> None:
    async def scene() -> None:
        changes, first = await listening(feed)
        tenants["a"] = "basic"
        feed.note("a")
        assert await first == {"a": "basic"}
        feed.note("a")
        tenants["b"] = "pro"
        feed.note("b")
        assert await taken(changes) == {"b": "pro"}
        del tenants["a"]
        feed.note("a")
        feed.note("never-was")
        assert await taken(changes) == {"a": None}

    asyncio.run(scene())
    assert [json.loads(row)["name"] for row in feed.rows()] == ["b"]


def test_burst_is_worked_out_once(feed: Feed, tenants: Tenants) -> None:
    async def scene() -> None:
        _, first = await listening(feed)
        for number in range(BURST):
            tenants["a"] = f"plan-{number}"
            feed.note("a")
        await first

    asyncio.run(scene())
    assert tenants.asked < BURST / 10


def test_browser_that_takes_nothing_costs_one_row_of_each_tenant(feed: Feed, tenants: Tenants) -> None:
    async def scene() -> None:
        slow, first = await listening(feed)
        tenants["a"] = "basic"
        feed.note("a")
        assert await first
        quick, next_one = await listening(feed)
        for number in range(5):
            tenants["a"] = f"plan-{number}"
            feed.note("a")
            assert await next_one == {"a": f"plan-{number}"}
            next_one = asyncio.create_task(taken(quick))
        # Each change is offered to all browsers before the next: with this one, both have all of the above.
        tenants["b"] = "basic"
        feed.note("b")
        assert await next_one == {"b": "basic"}
        # Of all that the slow one has missed, it gets the newest.
        assert (await taken(slow))["a"] == "plan-4"

    asyncio.run(scene())


def test_row_that_can_not_be_worked_out_stops_no_other(tenants: Tenants) -> None:
    def row(name: str) -> TenantRow | None:
        if name == "broken":
            raise KeyError(name)
        return tenants.row(name)

    feed = Feed(row)
    feed.start()

    async def scene() -> None:
        changes, first = await listening(feed)
        feed.note("broken")
        tenants["whole"] = "basic"
        feed.note("whole")
        assert await first == {"whole": "basic"}
        feed.stop()
        assert [left async for left in changes] == []

    asyncio.run(scene())
    feed.join()


def test_stream_ends_with_the_feed(feed: Feed) -> None:
    async def scene() -> list[Changes]:
        async with aclosing(feed.changes()) as changes:
            ended = asyncio.create_task(_all(changes))
            await asyncio.sleep(0)
            feed.stop()
            return await asyncio.wait_for(ended, 30)

    assert asyncio.run(scene()) == []


async def _all(changes: AsyncIterator[Changes]) -> list[Changes]:
    return [found async for found in changes]


def test_feed_that_has_died_is_told(feed: Feed) -> None:
    assert feed.not_healthy() == []
    feed.stop()
    feed.join()
    assert feed.not_healthy() == ["thread died: page feed"]
