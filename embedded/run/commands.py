"""`./dev run`, `env`, `pid` and `stop`: the commands around a session.

Called by `embedded.cli`, each with its arguments and returning the exit code. What a session is stands in
`supervisor.py`, what `run` shows of it in `foreground.py`; both are imported only when needed, because a
Kubernetes client takes a second to load.
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
from embedded.run.environment_variables import reach_text, session_variables
from embedded.run.later_tools import SHELL_TOOLS, later_tools, preparing_text
from embedded.run.record import SUPERVISOR, SessionRecord, live_record
from embedded.run.state_folder import StateFolder

POLL_S = 0.05
# Longer than the watcher's grace period and the control plane's together.
STOP_TIMEOUT_S = 120.0


def run(args: argparse.Namespace) -> int:
    folder = StateFolder.current()
    record = live_record(folder.record)
    if record is not None:
        raise SetupFailed(
            f"a session runs already (process {record.processes[SUPERVISOR].pid}): stop it with ./dev stop,"
            ' or use it with eval "$(./dev env)"'
        )
    if args.detach:
        from embedded.run.detach import start_detached

        record = start_detached(folder, args.cluster)
        print(reach_text(record))
        if missing := [name for name in later_tools(args.cluster) if name not in record.tools]:
            print(preparing_text(missing, folder.tools_log))
        print("kubectl apply -f examples/ makes the sample tenants; ./dev stop ends the session.")
        return 0
    from embedded.run.foreground import run_in_foreground

    return run_in_foreground(
        folder, args.cluster, is_once=args.once, timeout_s=args.timeout, picture=args.picture
    )


def env(_: argparse.Namespace) -> int:
    folder = StateFolder.current()
    record = _with_shell_tools(_live_record(folder))
    for name, value in session_variables(folder, record).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def pid(args: argparse.Namespace) -> int:
    alive = _live_record(StateFolder.current()).alive()
    if args.name not in alive:
        raise SetupFailed(f"no process {args.name!r} runs in the session; these do: {', '.join(alive)}")
    print(alive[args.name])
    return 0


def stop(_: argparse.Namespace) -> int:
    """The supervisor ends the others. Should it be dead or stuck, the guards do, once it is gone."""
    record = SessionRecord.read(StateFolder.current().record)
    if record is None or not record.alive():
        print("no session runs")
        return 0
    with Progress("Stopping the session"):
        supervisor = record.alive().get(SUPERVISOR)
        if supervisor:
            os.kill(supervisor, signal.SIGTERM)
        if not _ends(record) and supervisor:
            os.kill(supervisor, signal.SIGKILL)
        if not _ends(record):
            raise SetupFailed(f"these processes do not end: {record.alive()}; end them with kill -9")
    return 0


def _live_record(folder: StateFolder) -> SessionRecord:
    record = live_record(folder.record)
    if record is None:
        raise SetupFailed("no session runs; start one with ./dev run --detach")
    return record


def _with_shell_tools(record: SessionRecord) -> SessionRecord:
    """The record with all tools that a shell uses; those that the session still lacks are waited for."""
    missing = [name for name in SHELL_TOOLS if name not in record.tools]
    if not missing:
        return record
    from embedded.toolchain.resolver import ensure_tools, present_tools

    try:
        tools = ensure_tools(missing)
    except SetupFailed as error:
        print(f"{error}\nThe session is reached without.", file=sys.stderr)
        tools = present_tools(missing)
    return replace(record, tools=record.tools | {name: str(path) for name, path in tools.items()})


def _ends(record: SessionRecord) -> bool:
    """Waits until no process of the session is left."""
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while record.alive():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
