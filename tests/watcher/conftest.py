"""Fixtures for the tests of the watcher.

They start watchers that read plans from a file or from a ConfigMap.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenancy.base.kinds import CONFIG_MAP
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
