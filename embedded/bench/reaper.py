"""Runs a command, and waits for every process that the command or its children leave behind.

The kernel adds the CPU time of an ended process to the process that waits for it. A process whose parent has
ended becomes a child of this process, and this process waits for it. So the CPU time of no process is lost.
`meter` reads the sum. Only Linux supports this.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from embedded.controlplane.guard import set_parent_death_signal

_PR_SET_CHILD_SUBREAPER: Final = 36


def reaper_argv(argv: Sequence[str]) -> list[str]:
    """The command that runs `argv` in a reaper. Run it in the folder of the checkout."""
    return [sys.executable, "-m", "embedded.bench.reaper", *argv]


def main() -> int:
    is_linux = sys.platform == "linux"
    if is_linux:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # `preexec_fn` is safe because this process has one thread.
    process = subprocess.Popen(sys.argv[1:], preexec_fn=set_parent_death_signal if is_linux else None)
    # `Popen.terminate` could wait for the process too, and then the loop would miss its exit.
    signal.signal(signal.SIGTERM, lambda *_: os.kill(process.pid, signal.SIGTERM))
    while True:
        pid, status = os.wait()
        if pid == process.pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
