"""Fixtures for the tests of the watcher.

They start watchers that read plans from a file or from a ConfigMap, and create namespaces without a tenant.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenancy.base.kinds import CONFIG_MAP, NAMESPACE
from tenancy.base.labels import ADOPTION_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.plans import SHIPPED_PLANS
from tests.platform import Platform
from tests.watcher.changed_plans import PLANS_CONFIG_MAP, write_plans


@pytest.fixture
def plans_file(platform: Platform) -> Iterator[Path]:
    """The plans file of a running watcher. The file contains the shipped plans, which are in force."""
    path = platform.folder / "plans" / "plans.yaml"
    path.parent.mkdir(exist_ok=True)
    if platform.process is None or platform.plans != str(path):
        platform.stop()
        shutil.copy(SHIPPED_PLANS, path)
        platform.start("--plans", str(path))
    yield path
    path.unlink(missing_ok=True)
    write_plans(platform, path, SHIPPED_PLANS.read_text())


@pytest.fixture
def config_map(platform: Platform) -> Iterator[None]:
    """A watcher that waits for the ConfigMap with its plans. The ConfigMap does not exist yet."""
    platform.stop()
    platform.launch("--plans-configmap", "/".join(PLANS_CONFIG_MAP))
    yield
    platform.stop()
    platform.admin.delete(CONFIG_MAP, PLANS_CONFIG_MAP[1], PLANS_CONFIG_MAP[0])


@pytest.fixture
def existing(platform: Platform) -> Iterator[Any]:
    """A function that creates a namespace without a tenant, and a ConfigMap in it.

    The ConfigMap represents a workload. After the test, the fixture deletes the namespaces.
    """
    names: list[str] = []

    def create(name: str, tenant: str = "", **labels: str) -> Manifest:
        names.append(name)
        metadata = {"name": name, "labels": labels}
        if tenant:
            metadata["annotations"] = {ADOPTION_ANNOTATION: tenant}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        content = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "workload", "namespace": name},
            "data": {"kept": "yes"},
        }
        created = platform.admin.create(NAMESPACE, namespace)
        platform.admin.create(CONFIG_MAP, content)
        return created

    yield create
    for name in names:
        platform.admin.delete(NAMESPACE, name)
