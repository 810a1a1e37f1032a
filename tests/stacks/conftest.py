"""Stacks on a real cluster, and the commands that they run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pulumi.automation import CommandResult

from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from stacks.command import PulumiProcess
from stacks.stack import Stacks

OpenStacks = Callable[[], tuple[Stacks, "CountingProcess"]]


class CountingProcess(PulumiProcess):
    """Runs commands, and records them."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(timeout_s)
        self.commands: list[str] = []

    def run(self, args: list[str], cwd: str, additional_env: Mapping[str, str], *rest: Any) -> CommandResult:
        self.commands.append(args[0])
        return super().run(args, cwd, additional_env, *rest)


@pytest.fixture
def open_stacks(
    tools: dict[str, Path], control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> OpenStacks:
    """A function that opens the stacks in a backend of this test's own."""
    monkeypatch.setenv("PATH", path_with(tools))
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "test")
    (tmp_path / "state").mkdir()

    def open_stacks_and_command() -> tuple[Stacks, CountingProcess]:
        command = CountingProcess(timeout_s=120)
        stacks = Stacks(f"file://{tmp_path / 'state'}", tmp_path / "run", command)
        stacks.prepare()
        command.commands.clear()
        return stacks, command

    return open_stacks_and_command
