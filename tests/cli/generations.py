"""Creates Tenants whose specs have changed several times, for tests of rollbacks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

from tenancy.base.manifest import Manifest
from tests.platform import Platform, tenant_manifest
from tests.shared import await_settled, shared_tenants

Spec = dict[str, Any]


@contextmanager
def grown_tenants(platform: Platform, specs: Mapping[str, Sequence[Spec]]) -> Iterator[None]:
    """Create the Tenants of a test file. For each Tenant, apply its specs one after the other.

    The tenants are updated in parallel. On exit, the Tenants are deleted.
    """
    first, *later = zip_longest(*specs.values())
    with shared_tenants(platform, *_manifests(specs, first)):
        for generation in later:
            await_settled(platform, *map(platform.apply, _manifests(specs, generation)))
        yield


def _manifests(names: Mapping[str, Any], specs: Sequence[Spec | None]) -> list[Manifest]:
    return [
        tenant_manifest(name, **spec) for name, spec in zip(names, specs, strict=True) if spec is not None
    ]


def live(platform: Platform, manifest: Manifest) -> Manifest:
    tenant = platform.tenant(manifest)
    assert tenant is not None
    return tenant
