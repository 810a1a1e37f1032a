"""The `tenancy` command as people run it, against the shared platform."""

import subprocess
from collections.abc import Callable

import pytest

from tests.commandline import run_tenancy
from tests.platform import Platform

Completed = subprocess.CompletedProcess[str]
# Runs the command with these arguments; `environment` adds to what an administrator has.
Run = Callable[..., Completed]


@pytest.fixture
def tenancy(platform: Platform) -> Run:
    def run(*arguments: str, input: str | None = None, **environment: str) -> Completed:
        administrators = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
        return run_tenancy(*arguments, environment={**administrators, **environment}, input=input)

    return run
