"""The commands `./dev run`, `./dev env`, `./dev pid` and `./dev stop`. Each function returns the exit code.

Modules that import the Kubernetes client are imported inside the functions, because importing the client
takes about a second.
"""

import argparse
import os
import shlex
import signal
import sys
import time
from dataclasses import replace

from embedded.errors import SetupFailed
from embedded.progress import Progress
from embedded.run.environment_variables import (
    connection_text,
    dev_command,
    environment_variables,
    path_for_shell,
    set_environment_command,
)
from embedded.run.later_tools import SHELL_TOOLS, later_tools, preparing_text
from embedded.run.record import SUPERVISOR, InstanceRecord, live_record
from embedded.run.state_folder import StateFolder

POLL_S = 0.05
# This time is longer than the grace periods of the watcher and the control plane together.
STOP_TIMEOUT_S = 120.0


def run(args: argparse.Namespace) -> int:
    folder = StateFolder.current()
    record = live_record(folder.record)
    if record is not None:
        raise SetupFailed(
            f"./dev run is already running (process {record.processes[SUPERVISOR].pid})."
            ' Stop it with ./dev stop, or use it with: eval "$(./dev env)"'
        )
    if args.detach:
        from embedded.run.detach import start_detached

        record = start_detached(folder, args.cluster)
        print(connection_text(record))
        if missing := [name for name in later_tools(args.cluster) if name not in record.tools]:
            print(preparing_text(missing, folder.tools_log))
        examples = path_for_shell("examples")
        print(f"Create the sample tenants with: {set_environment_command()} && kubectl apply -f {examples}")
        print(f"Stop with: {dev_command('stop')}")
        return 0
    from embedded.run.foreground import run_in_foreground

    return run_in_foreground(
        folder, args.cluster, is_once=args.once, timeout_s=args.timeout, picture=args.picture
    )


def env(_: argparse.Namespace) -> int:
    """Print shell commands that export the environment variables for the running `./dev run`."""
    folder = StateFolder.current()
    record = _ensure_shell_tools(_require_live_record(folder))
    for name, value in environment_variables(folder, record).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def pid(args: argparse.Namespace) -> int:
    """Print the id of one process of the running `./dev run`. The argument `name` selects the process."""
    live_pids = _require_live_record(StateFolder.current()).live_pids()
    if args.name not in live_pids:
        raise SetupFailed(
            f"There is no running process {args.name!r}. Running processes: {', '.join(live_pids)}."
        )
    print(live_pids[args.name])
    return 0


def stop(_: argparse.Namespace) -> int:
    """Stop the running `./dev run`, and wait until its processes have exited.

    This command sends SIGTERM to the supervisor process. The supervisor then stops the other processes and
    exits. If the supervisor does not exit in time, this command kills it. The guard processes then stop the
    other processes.
    """
    record = InstanceRecord.read(StateFolder.current().record)
    if record is None or not record.live_pids():
        print("./dev run is not running.")
        return 0
    with Progress("Stopping the watcher and the control plane"):
        supervisor_pid = record.live_pids().get(SUPERVISOR)
        if supervisor_pid:
            os.kill(supervisor_pid, signal.SIGTERM)
        if not _await_exit(record) and supervisor_pid:
            os.kill(supervisor_pid, signal.SIGKILL)
        if not _await_exit(record):
            raise SetupFailed(
                f"These processes are still running: {record.live_pids()}. Kill them with kill -9."
            )
    return 0


def _require_live_record(folder: StateFolder) -> InstanceRecord:
    record = live_record(folder.record)
    if record is None:
        raise SetupFailed("./dev run is not running. Start it with ./dev run --detach.")
    return record


def _ensure_shell_tools(record: InstanceRecord) -> InstanceRecord:
    """Download or build the tools that the user's shell needs. Returns a record that includes these tools."""
    missing = [name for name in SHELL_TOOLS if name not in record.tools]
    if not missing:
        return record
    from embedded.toolchain.resolver import ensure_tools, present_tools

    try:
        tools = ensure_tools(missing)
    except SetupFailed as error:
        print(f"{error}\nThe variables are set without the missing tools.", file=sys.stderr)
        tools = present_tools(missing)
    return replace(record, tools=record.tools | {name: str(path) for name, path in tools.items()})


def _await_exit(record: InstanceRecord) -> bool:
    """Wait until all processes of the instance have exited.

    Returns False if a process is still running after STOP_TIMEOUT_S.
    """
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while record.live_pids():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
