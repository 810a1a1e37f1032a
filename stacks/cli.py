"""Runs the Pulumi CLI. Each command of the CLI runs in its own work folder."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pulumi.automation import LocalWorkspace

from stacks.backend import create_stack_in_file_backend
from stacks.command import PulumiProcess
from stacks.errors import StackError, StackNotFound
from stacks.history import newest_number
from stacks.operation import OneProcessStack, Operation, no_program, translated_errors
from stacks.project import encryption_salt, work_folder
from stacks.result import EventLog
from stacks.storage.history_files import Entry, file_history


class PulumiCli:
    """Runs the Pulumi CLI for the stacks of one backend. Thread-safe."""

    def __init__(
        self, backend_url: str, run_dir: Path, command: PulumiProcess, environment: Mapping[str, str]
    ) -> None:
        self._backend_url = backend_url
        self._run_dir = run_dir
        self._command = command
        self._environment = environment
        # Pulumi derives the encryption key from the passphrase and this salt. If the salt is None, the CLI
        # creates a salt for each stack.
        self.salt: str | None = None

    def operate(self, operation: Operation) -> EventLog:
        """Run the operation, and return its events. Raises StackError if the operation fails."""
        events = EventLog()
        name = operation.stack
        with (
            translated_errors(events),
            work_folder(self._run_dir, name, self.salt, operation.record) as folder,
        ):
            if operation.name == "up":
                create_stack_in_file_backend(self._backend_url, name)
            operation.run(OneProcessStack(name, self._workspace(folder, operation.program)), events)
        if operation.has_history:
            events.version = self._newest_version(name)
        return events

    def run(self, stack: str, *arguments: str) -> str:
        """Run a command such as `stack export` on the stack, and return its output.

        Raises StackError if the command fails.
        """
        with translated_errors(EventLog()), work_folder(self._run_dir, stack, self.salt) as folder:
            result = self._command.run([*arguments, "--stack", stack], str(folder), self._environment)
        return result.stdout

    def create_stack(self, name: str) -> None:
        with translated_errors(EventLog()), work_folder(self._run_dir, name, self.salt) as folder:
            self._workspace(folder, no_program).create_stack(name)

    def import_stack(self, name: str, state: Mapping[str, Any]) -> None:
        """Replace the state of a stack. Create the stack if it does not exist."""
        with work_folder(self._run_dir, name, self.salt) as folder:
            file = folder / "state.json"
            file.write_text(json.dumps(state), encoding="utf-8")
            arguments = ("stack", "import", "--file", str(file))
            try:
                self.run(name, *arguments)
            except StackNotFound:
                self.create_stack(name)
                self.run(name, *arguments)

    def history(self, stack: str) -> list[Entry]:
        """The stack's updates, newest first. Raises StackError if they cannot be read.

        If the backend is a file backend, the updates are read from its files, without a CLI process.
        """
        with translated_errors(EventLog()):
            if (entries := file_history(self._backend_url, stack)) is not None:
                return entries
        # By default, the CLI returns only the newest 10 updates. A page size of 0 returns all updates.
        options = ["--json", "--full-dates", "--page-size", "0"]
        history: list[Entry] = json.loads(self.run(stack, "stack", "history", *options))
        return history

    def _newest_version(self, stack: str) -> int | None:
        """The number of the stack's newest update, or None if the history cannot be read."""
        try:
            return newest_number(self.history(stack))
        except StackError:
            return None  # This is not an error, because the update itself has succeeded.

    def new_salt(self) -> str:
        """Create a salt that all stacks can use.

        If each stack had its own salt, the first `up` of each stack would take 0.2 s longer.
        """
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
