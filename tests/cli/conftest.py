"""Runs the `tenancy` command on the shared platform, with the rights of an administrator."""

import subprocess
from collections.abc import Callable

import pytest

from tests.commandline import run_tenancy
from tests.platform import Platform

Completed = subprocess.CompletedProcess[str]
# Runs `tenancy` with these arguments. `environment` adds variables to the administrator's environment.
Run = Callable[..., Completed]


@pytest.fixture
def tenancy(platform: Platform) -> Run:
    def run(*arguments: str, input: str | None = None, **environment: str) -> Completed:
        base_environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
        return run_tenancy(*arguments, environment={**base_environment, **environment}, input=input)

    return run
