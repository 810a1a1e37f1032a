"""The web page shows all tenants, even if one list request does not return all of them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.own_cluster import platform_on_own_cluster
from tests.page.client import PageClient
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

# One list request returns at most 500 objects.
NAMES = [f"many-{number:03}" for number in range(510)]


@pytest.fixture(scope="module")
def crowded_platform(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with many paused tenants. The watcher creates no objects for them."""
    with platform_on_own_cluster(tools, tmp_path_factory, "many") as platform:

        def create(name: str) -> None:
            platform.create(tenant_manifest(name, plan="basic", paused=True))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(create, NAMES))
        # Start the watcher last, so that it lists all tenants.
        platform.start()
        yield platform


@pytest.mark.timeout(600)
def test_all_tenants_are_listed_and_a_change_sends_one_row(crowded_platform: Platform) -> None:
    page = PageClient(crowded_platform.port)

    def settled_names() -> list[str] | None:
        rows = page.get("/api/tenants").data["tenants"]
        has_all = len(rows) == len(NAMES) and all(row["reason"] == "Paused" for row in rows)
        return [row["name"] for row in rows] if has_all else None

    assert eventually(settled_names, "every tenant is reconciled", timeout_s=400) == NAMES
    with page.stream() as stream:
        crowded_platform.apply(tenant_manifest("many-505", plan="basic", paused=True, displayName="Changed"))
        stream.next("tenant", "many-505", displayName="Changed")
    assert {row["name"] for _, row in stream.seen} == {"many-505"}
