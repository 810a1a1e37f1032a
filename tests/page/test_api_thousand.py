"""A thousand tenants on one page: all are listed, and a change of one is told of that one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tests.page.client import PageClient
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

NAMES = [f"many-{number:04}" for number in range(1000)]


@pytest.fixture(scope="module")
def crowded(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform of tenants that are all paused: nothing is made for them."""
    with ControlPlane(tools, tmp_path_factory.mktemp("many-plane"), is_throw_away=True) as plane:
        platform = Platform.install(plane.kubeconfig, path_with(tools), tmp_path_factory.mktemp("many"))
        platform.start()

        def create(name: str) -> None:
            platform.create(tenant_manifest(name, plan="basic", paused=True))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(create, NAMES))
        yield platform
        platform.stop()


def test_thousand_tenants_are_listed_and_a_change_of_one_is_told_of_that_one(crowded: Platform) -> None:
    page = PageClient(crowded.port)

    def settled() -> list[str] | None:
        rows = page.get("/api/tenants").data["tenants"]
        has_all = len(rows) == len(NAMES) and all(row["reason"] == "Paused" for row in rows)
        return [row["name"] for row in rows] if has_all else None

    assert eventually(settled, "every tenant has had its turn", timeout_s=200) == NAMES
    with page.stream() as stream:
        crowded.apply(tenant_manifest("many-0500", plan="basic", paused=True, displayName="Five hundred"))
        stream.next("tenant", "many-0500", displayName="Five hundred")
    assert {row["name"] for _, row in stream.seen} == {"many-0500"}
