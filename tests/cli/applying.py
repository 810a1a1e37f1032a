"""Writes manifest files for `tenancy apply`.

A fixture deletes the Tenants of these manifests after the test.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenancy.base.manifest import Manifest
from tests.platform import Platform, tenant_manifest


@pytest.fixture(name="named")
def named_fixture(platform: Platform) -> Iterator[Any]:
    """A function that creates manifests of Tenants.

    After the test, the fixture deletes those Tenants that the test has applied.
    """
    manifests: list[Manifest] = []

    def make(name: str, group: str = "platform.ai", **spec: Any) -> Manifest:
        manifests.append(tenant_manifest(name, group, **spec))
        return manifests[-1]

    yield make
    platform.verify_and_abandon(manifests)


def write(path: Path, *manifests: Manifest) -> str:
    path.write_text(yaml.safe_dump_all(manifests, sort_keys=False))
    return str(path)
