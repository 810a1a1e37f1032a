"""Tenants that the tests of a file share: applied together, awaited together, deleted after the last test."""

from collections.abc import Iterator
from contextlib import contextmanager

from cli.wait import is_settled
from tenancy.base.manifest import Manifest
from tests.platform import Platform
from tests.waiting import eventually


@contextmanager
def shared_tenants(platform: Platform, *manifests: Manifest) -> Iterator[None]:
    """Settled at first: Active, refused or paused. A test changes only what no other test looks at."""
    platform.ensure_started()
    for manifest in manifests:
        platform.add(manifest)
    await_settled(platform, *manifests)
    yield
    platform.end(manifests)


def await_settled(platform: Platform, *manifests: Manifest) -> list[Manifest]:
    """The tenants, once the watcher is done with each as it was last applied."""

    def settled(manifest: Manifest) -> Manifest | None:
        tenant = platform.tenant(manifest)
        return tenant if tenant and is_settled(tenant) else None

    return [
        eventually(
            lambda manifest=manifest: settled(manifest),  # type: ignore[misc]
            f"tenant {manifest['metadata']['name']} is settled; is {platform.tenant(manifest)}",
        )
        for manifest in manifests
    ]
