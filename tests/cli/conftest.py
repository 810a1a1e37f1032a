"""The `tenancy` command as people run it: a process of its own, against the shared platform."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.platform import ROOT, Platform

Told = subprocess.CompletedProcess[str]
# Runs the command with these arguments; `environment` adds to what an administrator has.
Run = Callable[..., Told]


@pytest.fixture
def tenancy(platform: Platform) -> Run:
    def run(*arguments: str, input: str | None = None, **environment: str) -> Told:
        return subprocess.run(
            [sys.executable, "-m", "cli.main", *arguments],
            cwd=ROOT,
            env={**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig), **environment},
            input=input,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return run
