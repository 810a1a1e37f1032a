"""More tenants than the API server lists at once: the page has all, and tells a change of one of that one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tests.page.client import PageClient
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

# The API server gives 500 at once.
NAMES = [f"many-{number:03}" for number in range(510)]


@pytest.fixture(scope="module")
def crowded(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform of tenants that are all paused: nothing is made for them."""
    with ControlPlane(tools, tmp_path_factory.mktemp("many-plane"), is_throw_away=True) as plane:
        platform = Platform.install(plane.kubeconfig, path_with(tools), tmp_path_factory.mktemp("many"))

        def create(name: str) -> None:
            platform.create(tenant_manifest(name, plan="basic", paused=True))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(create, NAMES))
        # Only now, so that it has to list them all.
        platform.start()
        yield platform
        platform.stop()


@pytest.mark.timeout(600)
def test_all_tenants_are_listed_and_a_change_of_one_is_told_of_that_one(crowded: Platform) -> None:
    page = PageClient(crowded.port)

    def settled() -> list[str] | None:
        rows = page.get("/api/tenants").data["tenants"]
        has_all = len(rows) == len(NAMES) and all(row["reason"] == "Paused" for row in rows)
        return [row["name"] for row in rows] if has_all else None

    assert eventually(settled, "every tenant has had its turn", timeout_s=400) == NAMES
    with page.stream() as stream:
        crowded.apply(tenant_manifest("many-505", plan="basic", paused=True, displayName="Changed"))
        stream.next("tenant", "many-505", displayName="Changed")
    assert {row["name"] for _, row in stream.seen} == {"many-505"}
