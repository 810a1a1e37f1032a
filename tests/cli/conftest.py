"""Runs the `tenancy` command against the shared platform, with an administrator's permissions."""

import subprocess
from collections.abc import Callable

import pytest

from tests.commandline import run_tenancy
from tests.platform import Platform

Completed = subprocess.CompletedProcess[str]
# Runs the command with these arguments. `environment` extends the environment of an administrator.
Run = Callable[..., Completed]


@pytest.fixture
def tenancy(platform: Platform) -> Run:
    def run(*arguments: str, input: str | None = None, **environment: str) -> Completed:
        base_environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
        return run_tenancy(*arguments, environment={**base_environment, **environment}, input=input)

    return run
