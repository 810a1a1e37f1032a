"""A cluster of its own for each module here: installing and removing the platform concerns all in it."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tenancy.kinds import kind_of
from tenancy.manifest import Manifest, object_key
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.workload import watcher_workload
from tests.platform import Platform

Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]

IMAGE = "tenancy-watcher:1"


@pytest.fixture(scope="module")
def empty(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A cluster with nothing in it, and a stack `platform` that has never been up."""
    folder = tmp_path_factory.mktemp("platform-stack")
    with ControlPlane(tools, folder / "plane", is_throw_away=True) as plane:
        platform = Platform.on(plane.kubeconfig, path_with(tools), folder)
        told = platform.pulumi("platform", "stack", "init")
        assert told.returncode == 0, told.stderr
        yield platform
        if platform.process is not None:
            platform.stop()


@pytest.fixture(scope="module")
def installed(empty: Platform) -> Platform:
    """The platform as `pulumi up` leaves it, and a watcher as its pod would be."""
    up(empty)
    start_as_pod(empty)
    return empty


@pytest.fixture
def kubectl(empty: Platform) -> Kubectl:
    def run(*args: str, stdin: Manifest | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["kubectl", *args],
            env={**os.environ, "PATH": empty.environment["PATH"], "KUBECONFIG": str(empty.admin_kubeconfig)},
            input=json.dumps(stdin) if stdin else None,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def up(platform: Platform, **config: str) -> str:
    """`pulumi up` with an image, and whatever else is set; what it told."""
    settings = [f"--config={name}={value}" for name, value in {"image": IMAGE, **config}.items()]
    told = platform.pulumi("platform", "up", "--yes", "--skip-preview", *settings)
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


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
