"""Runs operations and commands with the Pulumi CLI. Each command runs in its own work folder."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pulumi.automation import LocalWorkspace, UpdateSummary

from stacks.backend import create_stack_in_file_backend
from stacks.command import PulumiProcess
from stacks.operation import OneProcessStack, Operation, no_program, translated_errors
from stacks.project import encryption_salt, work_folder
from stacks.result import EventLog
from stacks.storage.history_files import newest_version

# The CLI lists only ten updates by default.
_ALL_UPDATES: Final = 1_000_000


class PulumiCli:
    """The CLI for the stacks of one backend. Thread-safe."""

    def __init__(
        self, backend_url: str, run_dir: Path, command: PulumiProcess, environment: Mapping[str, str]
    ) -> None:
        self._backend_url = backend_url
        self._run_dir = run_dir
        self._command = command
        self._environment = environment
        # The salt of the encryption key. None if the CLI selects a salt for each stack.
        self.salt: str | None = None

    def operate(self, operation: Operation) -> EventLog:
        """Run the operation, and return its events. Raises StackError."""
        events = EventLog()
        name = operation.stack
        with (
            translated_errors(events),
            work_folder(self._run_dir, name, self.salt, operation.record) as folder,
        ):
            if operation.name == "up":
                create_stack_in_file_backend(self._backend_url, name)
            operation.run(OneProcessStack(name, self._workspace(folder, operation.program)), events)
        return events

    def run(self, stack: str, *arguments: str) -> str:
        """Run a command on the stack, and return its output. Raises StackError."""
        with translated_errors(EventLog()), work_folder(self._run_dir, stack, self.salt) as folder:
            result = self._command.run([*arguments, "--stack", stack], str(folder), self._environment)
        return result.stdout

    def create_stack(self, name: str) -> None:
        with translated_errors(EventLog()), work_folder(self._run_dir, name, self.salt) as folder:
            self._workspace(folder, no_program).create_stack(name)

    def newest_version(self, name: str) -> int | None:
        """The version of the stack's newest update, or None if the CLI cannot read the history."""

        def read_history() -> list[UpdateSummary]:
            with work_folder(self._run_dir, name, self.salt) as folder:
                stack = OneProcessStack(name, self._workspace(folder, no_program))
                return stack.history(page_size=_ALL_UPDATES, show_secrets=False)

        # Most updates need no work folder, because a file backend is read without the CLI.
        with translated_errors(EventLog()):
            return newest_version(self._backend_url, name, read_history)

    def new_salt(self) -> str:
        """Create the salt for all stacks. With a salt per stack, each new stack would take 0.2 s longer."""
        name = "salt"
        with translated_errors(EventLog()), work_folder(self._run_dir, name, None) as folder:
            scratch = {**self._environment, "PULUMI_BACKEND_URL": f"file://{folder}"}
            self._command.run(["stack", "init", name, "--no-select"], str(folder), scratch)
            return encryption_salt(folder, name)

    def _workspace(self, folder: Path, program: Callable[[], None]) -> LocalWorkspace:
        return LocalWorkspace(
            work_dir=str(folder),
            program=program,
            env_vars=self._environment,
            pulumi_command=self._command,
        )
