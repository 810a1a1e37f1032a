"""A cluster of its own for each module here: installing and removing the platform concerns all in it."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest, object_key
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.watcher_workload import watcher_workload
from tests.platform import Platform

Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]

IMAGE = "tenancy-watcher:1"
# What tests start from: nothing set but the image.
PLAIN = {"image": IMAGE}


@dataclass
class PlatformStack:
    """The stack `platform` of a cluster."""

    platform: Platform
    # What the newest `up` was run with; None: nothing is installed.
    settings: dict[str, str] | None = None

    def up(self, **settings: str) -> str:
        """`pulumi up` with these settings and no others; what it told."""
        self.settings = None
        config = [f"--config={name}={value}" for name, value in settings.items()]
        told = self.platform.pulumi("platform", "up", "--yes", "--skip-preview", *config)
        assert told.returncode == 0, told.stdout + told.stderr
        self.settings = settings
        return told.stdout

    def destroy(self) -> tuple[int, str]:
        """The exit code of `pulumi destroy`, and what it told."""
        told = self.platform.pulumi("platform", "destroy", "--yes", "--skip-preview")
        if told.returncode == 0:
            self.settings = None
        return told.returncode, told.stdout + told.stderr


@pytest.fixture(scope="module")
def empty(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlatformStack]:
    """A cluster with nothing in it at first, and a stack that has never been up."""
    folder = tmp_path_factory.mktemp("platform-stack")
    with ControlPlane(tools, folder / "plane", is_throw_away=True) as plane:
        platform = Platform.on(plane.kubeconfig, path_with(tools), folder)
        told = platform.pulumi("platform", "stack", "init")
        assert told.returncode == 0, told.stderr
        yield PlatformStack(platform)
        if platform.process is not None:
            platform.stop()


@pytest.fixture
def deployed(empty: PlatformStack) -> PlatformStack:
    """The platform with an image and nothing else set, whatever the test before made of it."""
    if empty.settings != PLAIN:
        empty.up(**PLAIN)
    return empty


@pytest.fixture
def installed(deployed: PlatformStack) -> PlatformStack:
    """The same, with a watcher as its pod would be."""
    if deployed.platform.process is None:
        start_as_pod(deployed.platform)
    return deployed


@pytest.fixture
def kubectl(empty: PlatformStack) -> Kubectl:
    platform = empty.platform

    def run(*args: str, stdin: Manifest | None = None) -> "subprocess.CompletedProcess[str]":
        environment = {"PATH": platform.environment["PATH"], "KUBECONFIG": str(platform.admin_kubeconfig)}
        return subprocess.run(
            ["kubectl", *args],
            env={**os.environ, **environment},
            input=json.dumps(stdin) if stdin else None,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def start_as_pod(platform: Platform) -> None:
    """Starts the watcher with the identity and the arguments that were installed, at a place of its own."""
    platform.identify()
    _, stateful_set = watcher_workload(PlatformSettings(image=IMAGE))
    found = live(platform, stateful_set)
    assert found is not None
    given = found["spec"]["template"]["spec"]["containers"][0]["args"]
    values = dict(zip(given[::2], given[1::2], strict=True))
    places = ("--http", "--run-dir", "--usage-db")
    platform.start(*(part for name in values if name not in places for part in (name, values[name])))


def live(platform: Platform, manifest: Manifest) -> Manifest | None:
    """The object in the cluster."""
    metadata = manifest["metadata"]
    return platform.admin.get(kind_of(manifest), metadata["name"], metadata.get("namespace", ""))


def uids(platform: Platform, manifests: list[Manifest]) -> dict[str, str]:
    """Which of these are in the cluster and not about to go."""
    return {
        str(object_key(manifest)): found["metadata"]["uid"]
        for manifest in manifests
        if (found := live(platform, manifest)) and "deletionTimestamp" not in found["metadata"]
    }
