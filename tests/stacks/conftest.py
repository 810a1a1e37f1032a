"""Fixtures that open stacks on a real cluster, and record the Pulumi commands that the stacks run."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pulumi.automation import CommandResult

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from stacks.command import PulumiProcess
from stacks.operation import EngineName
from stacks.stack import Stacks
from tenancy.desired import DesiredState, desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from tests.platform import Platform
from tests.stacks.warm import Warm, open_warm

OpenStacks = Callable[[], tuple[Stacks, "CountingProcess"]]

# Runs a test twice: with the warm engine, and with the Pulumi CLI.
on_both_engines = pytest.mark.parametrize("engine", EngineName)


def desired(name: str, **spec: Any) -> DesiredState:
    return desired_state(tenant_from_manifest({"metadata": {"name": name}, "spec": spec}), read_plans())


class CountingProcess(PulumiProcess):
    """Runs Pulumi commands, and records their names."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(timeout_s)
        self.commands: list[str] = []

    def run(self, args: list[str], cwd: str, additional_env: Mapping[str, str], *rest: Any) -> CommandResult:
        self.commands.append(args[0])
        return super().run(args, cwd, additional_env, *rest)


@pytest.fixture
def engine() -> EngineName:
    """The engine that runs the operations. Tests with the mark `on_both_engines` replace this fixture."""
    return EngineName.CLI


@pytest.fixture
def open_stacks(
    tools: dict[str, Path],
    control_plane: ControlPlane,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: EngineName,
) -> Iterator[OpenStacks]:
    """A function that opens the stacks in a state backend. Each test has its own backend."""
    monkeypatch.setenv("PATH", path_with(tools))
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "test")
    (tmp_path / "state").mkdir()
    engines = []

    def open_stacks_and_command() -> tuple[Stacks, CountingProcess]:
        command = CountingProcess(timeout_s=120)
        stacks = Stacks(f"file://{tmp_path / 'state'}", tmp_path / "run", command, engine)
        stacks.prepare()
        command.commands.clear()
        # Do not store the stacks, because they hold the lock of the run folder.
        engines.append(stacks.engine)
        return stacks, command

    yield open_stacks_and_command
    for warm_engine in engines:
        if warm_engine:
            warm_engine.close()


@pytest.fixture(scope="module")
def warm(
    tools: dict[str, Path], control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Warm]:
    """Stacks with a warm engine, which all tests of a file share. The engine has the watcher's rights."""
    platform = Platform.install(control_plane.kubeconfig, path_with(tools), tmp_path_factory.mktemp("warm"))
    folder = tmp_path_factory.mktemp("stacks")
    with pytest.MonkeyPatch.context() as patch, open_warm_with(platform, folder, patch) as opened:
        yield opened


@contextmanager
def open_warm_with(platform: Platform, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Warm]:
    """Open stacks with the environment variables of the platform's watcher."""
    for name in ("PATH", "KUBECONFIG", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_HOME"):
        patch.setenv(name, platform.environment[name])
    with open_warm(platform, folder) as opened:
        yield opened
