"""The checks of the Pulumi CLI, the provider, the state backend, locks and stacks in `tenancy doctor`."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tests.cli.conftest import Run
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants

TENANT = tenant_manifest("doctor-held")


@pytest.fixture(scope="module", autouse=True)
def _held(running_platform: Platform) -> Iterator[None]:
    with shared_tenants(running_platform, TENANT):
        yield


@pytest.fixture
def findings_of(tenancy: Run) -> Any:
    """A function that runs the doctor, and returns the findings about the given objects."""

    def run(*subjects: str, **environment: str) -> list[Manifest]:
        findings = json.loads(tenancy("doctor", "-o", "json", **environment).stdout)
        return [entry for entry in findings if entry["subject"] in subjects]

    return run


def lock(platform: Platform, stack: str, host: str, pid: int) -> Path:
    folder = platform.folder / "state" / ".pulumi" / "locks" / "organization" / "tenancy" / stack
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC).isoformat()
    holder = {"pid": pid, "username": "jane", "hostname": host, "timestamp": now}
    (folder / "a.json").write_text(json.dumps(holder))
    return folder / "a.json"


def test_missing_pulumi_is_found(findings_of: Any, tmp_path: Path) -> None:
    cli, provider = findings_of("pulumi", "pulumi provider", PATH=str(tmp_path), PULUMI_HOME=str(tmp_path))
    assert cli["level"] == "FAILED"
    assert "put it on PATH" in cli["fix"]
    assert (provider["level"], "is not installed" in provider["message"]) == ("FAILED", True)
    assert provider["fix"] == "pulumi plugin install resource kubernetes 4.25.0"


def test_provider_of_another_kind_is_found(platform: Platform, findings_of: Any, tmp_path: Path) -> None:
    fake = tmp_path / "pulumi-resource-kubernetes"
    fake.write_text("#!/bin/sh\necho no port\n")
    fake.chmod(0o700)
    path = os.pathsep.join((str(tmp_path), platform.environment["PATH"]))
    (finding,) = findings_of("pulumi provider", PATH=path)
    assert finding["level"] == "FAILED"
    assert "does not answer, but 4.25.0 is required" in finding["message"]


def test_backend_that_is_not_named_or_not_there_is_told(findings_of: Any) -> None:
    (finding,) = findings_of("backend", PULUMI_BACKEND_URL="")
    assert (finding["level"], finding["message"].split(":")[0]) == ("warning", "not checked")
    (finding,) = findings_of("backend", PULUMI_BACKEND_URL="file:///nowhere/at/all")
    assert (finding["level"], finding["fix"]) == ("FAILED", "pulumi login file:///nowhere/at/all")


def test_lock_of_a_dead_process_is_found_and_the_fix_removes_it(platform: Platform, findings_of: Any) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    here = socket.gethostname()
    dead = lock(platform, "tenant-doctor-held", here, ended.pid)
    others = [lock(platform, "held-here", here, os.getpid()), lock(platform, "held-afar", "afar", 1)]
    try:
        locks = {entry["message"].split()[0]: entry for entry in findings_of("locks")}
    finally:
        for file in others:
            file.unlink()
    finding = locks["tenant-doctor-held"]
    assert (finding["level"], "that process no longer runs" in finding["message"]) == ("FAILED", True)
    assert finding["fix"] == "pulumi cancel --yes --stack tenant-doctor-held"
    assert (locks["held-here"]["level"], locks["held-afar"]["level"]) == ("ok", "warning")
    assert platform.pulumi("tenant-doctor-held", "cancel", "--yes").returncode == 0
    assert not dead.exists()


def test_stack_without_a_tenant_is_found_and_the_fix_removes_it(platform: Platform, findings_of: Any) -> None:
    assert platform.pulumi("tenant-ghost", "stack", "init").returncode == 0
    (finding,) = [entry for entry in findings_of("stacks") if "tenant-ghost" in entry["message"]]
    assert (finding["level"], finding["fix"]) == ("warning", "pulumi destroy --remove --stack tenant-ghost")
    assert platform.pulumi("tenant-ghost", "destroy", "--remove", "--yes").returncode == 0
    assert not [entry for entry in findings_of("stacks") if "tenant-ghost" in entry["message"]]


def test_tenant_without_a_stack_is_found(findings_of: Any, tmp_path: Path) -> None:
    findings = findings_of("stacks", PULUMI_BACKEND_URL=f"file://{tmp_path}")
    (lost,) = [entry for entry in findings if "tenant-doctor-held " in entry["message"]]
    assert (lost["level"], "is not in this backend" in lost["message"]) == ("FAILED", True)
