"""`./dev run --detach`: starts `daemon.py` in the background, and waits until the watcher is ready."""

import json
import subprocess
import sys
import time

from embedded.controlplane.processes import log_tail
from embedded.environment import ROOT
from embedded.errors import SetupFailed
from embedded.progress import Progress
from embedded.run.later_tools import ensure_startup_tools, later_tools
from embedded.run.record import SUPERVISOR, InstanceRecord, live_record
from embedded.run.state_folder import StateFolder
from embedded.toolchain.resolver import present_tools

POLL_S = 0.05


def start_detached(folder: StateFolder, context: str | None) -> InstanceRecord:
    """Start `./dev run` in the background, wait until it is ready, and return its record.

    If it does not start, raises SetupFailed with the last lines of its log.
    """
    paths = ensure_startup_tools(context) | present_tools(later_tools(context))
    tools = {name: str(path) for name, path in paths.items()}
    folder.create()
    arguments = [json.dumps(tools)] if context is None else [json.dumps(tools), context]
    with folder.daemon_log.open("wb") as log:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "embedded.run.daemon", *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        with Progress("Starting the control plane and the watcher"):
            return _await_ready(folder, daemon)
    except BaseException:
        daemon.terminate()
        daemon.wait()
        raise


def _await_ready(folder: StateFolder, daemon: "subprocess.Popen[bytes]") -> InstanceRecord:
    while True:
        record = live_record(folder.record)
        if record and record.is_ready and record.processes[SUPERVISOR].pid == daemon.pid:
            return record
        if daemon.poll() is not None:
            log = folder.daemon_log
            raise SetupFailed(f"./dev run did not start. Last lines of {log}:\n{log_tail(log)}")
        time.sleep(POLL_S)
