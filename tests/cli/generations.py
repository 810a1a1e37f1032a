"""A tenant that has been through several specs, for tests that go back to an earlier one."""

from typing import Any

from tenancy.manifest import Manifest
from tests.platform import Platform


def generations(platform: Platform, manifest: Manifest, *specs: dict[str, Any]) -> None:
    """Gives the tenant one spec after the other, each applied before the next."""
    platform.await_active(manifest)
    for spec in specs:
        platform.apply({**manifest, "spec": spec})
        platform.await_active(manifest)


def live(platform: Platform, manifest: Manifest) -> Manifest:
    tenant = platform.tenant(manifest)
    assert tenant is not None
    return tenant
