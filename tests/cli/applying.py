"""Manifests in files for `tenancy apply`, and a fixture that deletes their tenants after the test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenancy.base.manifest import Manifest
from tests.platform import Platform, tenant_manifest


@pytest.fixture(name="named")
def named_fixture(platform: Platform) -> Iterator[Any]:
    """Build manifests whose tenants are abandoned after the test, even if the test did not apply them."""
    manifests: list[Manifest] = []

    def make(name: str, group: str = "platform.ai", **spec: Any) -> Manifest:
        manifests.append(tenant_manifest(name, group, **spec))
        return manifests[-1]

    yield make
    platform.verify_and_abandon(manifests)


def write(path: Path, *manifests: Manifest) -> str:
    path.write_text(yaml.safe_dump_all(manifests, sort_keys=False))
    return str(path)
