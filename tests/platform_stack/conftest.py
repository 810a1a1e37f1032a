"""The tests of this folder share a cluster of their own, because they install and remove the platform."""

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
# Most tests start with these settings, in which only the image is set.
IMAGE_ONLY = {"image": IMAGE}


@dataclass
class PlatformStack:
    """The Pulumi stack `platform` of a cluster."""

    platform: Platform
    # The settings of the newest `pulumi up`, or None if the platform is not installed.
    settings: dict[str, str] | None = None

    def up(self, **settings: str) -> str:
        """Run `pulumi up` with exactly these settings. Returns its standard output."""
        self.settings = None
        config = [f"--config={name}={value}" for name, value in settings.items()]
        completed = self.platform.pulumi("platform", "up", "--yes", "--skip-preview", *config)
        assert completed.returncode == 0, completed.stdout + completed.stderr
        self.settings = settings
        return completed.stdout

    def destroy(self) -> tuple[int, str]:
        """Run `pulumi destroy`. Returns its exit code and its output."""
        completed = self.platform.pulumi("platform", "destroy", "--yes", "--skip-preview")
        if completed.returncode == 0:
            self.settings = None
        return completed.returncode, completed.stdout + completed.stderr


@pytest.fixture(scope="session")
def empty(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlatformStack]:
    """An empty cluster, and a stack without updates. All tests of this folder share both."""
    folder = tmp_path_factory.mktemp("platform-stack")
    with ControlPlane(tools, folder / "plane", is_throw_away=True) as plane:
        platform = Platform.not_installed(plane.kubeconfig, path_with(tools), folder)
        completed = platform.pulumi("platform", "stack", "init")
        assert completed.returncode == 0, completed.stderr
        yield PlatformStack(platform)
        if platform.process is not None:
            platform.stop()


@pytest.fixture
def deployed(empty: PlatformStack) -> PlatformStack:
    """The installed platform.

    Only the setting for the image is set, even if the previous test has set others.
    """
    if empty.settings != IMAGE_ONLY:
        empty.up(**IMAGE_ONLY)
    return empty


@pytest.fixture
def installed(deployed: PlatformStack) -> PlatformStack:
    """The platform of `deployed`, with a running watcher. The watcher runs as in its pod."""
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
    """Start the watcher with the ServiceAccount and the arguments of its pod.

    Addresses and files are local.
    """
    platform.write_watcher_kubeconfig()
    _, stateful_set = watcher_workload(PlatformSettings(image=IMAGE))
    live_stateful_set = live(platform, stateful_set)
    assert live_stateful_set is not None
    args = live_stateful_set["spec"]["template"]["spec"]["containers"][0]["args"]
    options = dict(zip(args[::2], args[1::2], strict=True))
    local_options = ("--http", "--run-dir", "--usage-db")
    platform.start(*(part for name in options if name not in local_options for part in (name, options[name])))


def live(platform: Platform, manifest: Manifest) -> Manifest | None:
    """The live object with the kind and name of this manifest, or None."""
    metadata = manifest["metadata"]
    return platform.admin.get(kind_of(manifest), metadata["name"], metadata.get("namespace", ""))


def uids(platform: Platform, manifests: list[Manifest]) -> dict[str, str]:
    """The UIDs of the live objects for these manifests. Objects that are being deleted are left out."""
    return {
        str(object_key(manifest)): live_object["metadata"]["uid"]
        for manifest in manifests
        if (live_object := live(platform, manifest)) and "deletionTimestamp" not in live_object["metadata"]
    }
