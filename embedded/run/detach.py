"""Starts a session that outlives the terminal, and waits until it is ready.

Called by `./dev run --detach`. The process it starts is `daemon.py`.
"""

import json
import subprocess
import sys
import time

from embedded.controlplane.processes import log_tail
from embedded.environment import ROOT
from embedded.errors import SetupFailed
from embedded.progress import Progress
from embedded.run.later_tools import first_tools, later_tools
from embedded.run.record import SUPERVISOR, SessionRecord, live_record
from embedded.run.state_folder import StateFolder
from embedded.toolchain.resolver import ensure_tools, present_tools

POLL_S = 0.05


def start_detached(folder: StateFolder, context: str | None) -> SessionRecord:
    """Returns when the session is ready; raises with the end of its log when it fails."""
    paths = ensure_tools(first_tools(context)) | present_tools(later_tools(context))
    tools = {name: str(path) for name, path in paths.items()}
    folder.make()
    arguments = [json.dumps(tools)] if context is None else [json.dumps(tools), context]
    with folder.session_log.open("wb") as log:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "embedded.run.daemon", *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        with Progress("Starting the session"):
            return _ready_record(folder, daemon)
    except BaseException:
        daemon.terminate()
        daemon.wait()
        raise


def _ready_record(folder: StateFolder, daemon: "subprocess.Popen[bytes]") -> SessionRecord:
    while True:
        record = live_record(folder.record)
        if record and record.is_ready and record.processes[SUPERVISOR].pid == daemon.pid:
            return record
        if daemon.poll() is not None:
            log = folder.session_log
            raise SetupFailed(f"the session did not start. The end of {log}:\n{log_tail(log)}")
        time.sleep(POLL_S)
