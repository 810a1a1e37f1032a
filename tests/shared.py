"""Tenants that all tests of a file share.

They are created before the first test, and deleted after the last test.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from cli.wait import is_settled
from tenancy.base.manifest import Manifest
from tests.platform import Platform
from tests.waiting import eventually


@contextmanager
def shared_tenants(platform: Platform, *manifests: Manifest) -> Iterator[None]:
    """Apply the Tenants, and wait until each tenant is Active, rejected or paused.

    On exit, delete the Tenants, but keep their objects. A test may change a shared tenant only if no other
    test depends on the changed fields.
    """
    platform.ensure_started()
    for manifest in manifests:
        platform.add(manifest)
    await_settled(platform, *manifests)
    yield
    platform.verify_and_abandon(manifests)


def await_settled(platform: Platform, *manifests: Manifest) -> list[Manifest]:
    """Wait until the watcher has reconciled the current spec of each tenant, and return the tenants."""

    def settled_tenant(manifest: Manifest) -> Manifest | None:
        tenant = platform.tenant(manifest)
        return tenant if tenant and is_settled(tenant) else None

    return [
        eventually(
            lambda manifest=manifest: settled_tenant(manifest),  # type: ignore[misc]
            f"tenant {manifest['metadata']['name']} is settled; is {platform.tenant(manifest)}",
        )
        for manifest in manifests
    ]
