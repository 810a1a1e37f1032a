"""Kubernetes reports no type errors in the CEL expressions of the admission policies."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from embedded.controlplane.components import POLICY_TYPE_CHECKER
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.platform.manifests import platform_manifests
from tests.platform import Platform
from tests.waiting import eventually


def policy_status(platform: Platform, manifest: Manifest) -> Manifest | None:
    """The live policy's status, or None until the controller has checked its newest generation."""
    live = platform.admin.get(kind_of(manifest), manifest["metadata"]["name"]) or {}
    status: Manifest = live.get("status", {})
    is_current = status.get("observedGeneration") == live.get("metadata", {}).get("generation")
    return status if live and is_current else None


@pytest.fixture
def type_checker(tools: dict[str, Path], control_plane: ControlPlane, tmp_path: Path) -> Iterator[None]:
    """Run the controller that checks types. The control planes of the tests start without it."""
    command = [
        str(tools["kube-controller-manager"]),
        f"--kubeconfig={control_plane.kubeconfig}",
        f"--controllers={POLICY_TYPE_CHECKER}",
        "--leader-elect=false",
        "--secure-port=0",
    ]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, cwd=tmp_path, stderr=log) as process:
        yield
        process.terminate()


@pytest.mark.usefixtures("type_checker")
def test_all_expressions_have_sound_types(platform: Platform) -> None:
    policies = [
        manifest for manifest in platform_manifests() if manifest["kind"] == "ValidatingAdmissionPolicy"
    ]
    assert policies
    for policy in policies:
        name = policy["metadata"]["name"]
        status = eventually(partial(policy_status, platform, policy), f"the types of {name} are checked")
        assert status.get("typeChecking", {}).get("expressionWarnings", []) == [], name
