"""Runs Pulumi commands on the tenants' stacks with administrator access, as an operator would."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pulumi.automation import CommandResult

from stacks.command import PulumiProcess
from stacks.stack import Stacks


class _PulumiWith(PulumiProcess):
    """The Pulumi CLI with the given environment variables. They override the variables of this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(timeout_s=240)
        self._environment = environment

    def run(self, args: list[str], cwd: str, additional_env: Mapping[str, str], *rest: Any) -> CommandResult:
        return super().run(args, cwd, {**self._environment, **additional_env}, *rest)


@dataclass(kw_only=True)
class StackCommands:
    """The tenants' stacks.

    The file backend is in `folder/state`, and the Pulumi program is in `folder/project`.
    """

    admin_kubeconfig: Path
    folder: Path
    environment: dict[str, str]

    def stack_folder(self, kind: str) -> Path:
        """The backend's folder for this kind of files: `stacks`, `history` or `locks`."""
        return self.folder / "state" / ".pulumi" / kind

    def pulumi(
        self, stack: str, *args: str, kubeconfig: Path | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run `pulumi` in the project folder, as an operator would.

        The default kubeconfig has administrator access.
        """
        result = subprocess.run(
            ["pulumi", *args, "--stack", stack, "--non-interactive", "--color", "never"],
            cwd=self.folder / "project",
            env={**self.environment, "KUBECONFIG": str(kubeconfig or self.admin_kubeconfig)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        # The CLI writes the stack's encryption salt to a file next to Pulumi.yaml. If a later stack has the
        # same name, its salt is different.
        (self.folder / "project" / f"Pulumi.{stack}.yaml").unlink(missing_ok=True)
        return result

    def history(self, tenant: str) -> list[dict[str, Any]]:
        """The updates of the tenant's stack, newest first."""
        history = self.pulumi(f"tenant-{tenant}", "stack", "history", "--json")
        assert history.returncode == 0, history.stderr
        updates: list[dict[str, Any]] = json.loads(history.stdout)
        return updates

    @cached_property
    def stacks(self) -> Stacks:
        """The tenants' stacks, with the administrator's kubeconfig."""
        environment = {**self.environment, "KUBECONFIG": str(self.admin_kubeconfig)}
        url = environment["PULUMI_BACKEND_URL"]
        stacks = Stacks(url, self.folder / "previews", _PulumiWith(environment))
        stacks.prepare()
        return stacks
