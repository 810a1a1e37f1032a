"""A reaper: a process that runs a command, and waits for all descendants of this command.

If the parent of a process ends before the process, the kernel makes the reaper the new parent. The kernel
adds the CPU time of an ended process to the parent that waits for it. So `meter` can read the CPU time of all
ended descendants from the reaper. Only Linux supports this.
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
    """The command line that starts a reaper, which runs `argv`. Run it in the root folder of the checkout."""
    return [sys.executable, "-m", "embedded.bench.reaper", *argv]


def main() -> int:
    """Run the command in `sys.argv`, wait for all its descendants, and return its exit code."""
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
