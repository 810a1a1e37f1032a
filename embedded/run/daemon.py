"""`python -m embedded.run.daemon TOOLS [CONTEXT]`: runs an instance until SIGTERM arrives.

`./dev run --detach` starts this program in the background. TOOLS is a JSON object that maps the names of
tools to their paths. CONTEXT is the value of the option `--cluster`: a context of the user's kubeconfig. The
program writes log lines to stdout.
"""

import json
import signal
import sys
import time
from pathlib import Path

from embedded.errors import SetupFailed
from embedded.run.state_folder import StateFolder
from embedded.run.supervisor import Supervisor

CHECK_INTERVAL_S = 1.0


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    tools = {name: Path(path) for name, path in json.loads(arguments[0]).items()}
    context = arguments[1] if len(arguments) > 1 else None
    try:
        with Supervisor(StateFolder.current(), tools, context=context) as supervisor:
            supervisor.prepare_later_tools(log_line)
            while True:
                supervisor.check_processes(log_line, timeout_s=CHECK_INTERVAL_S)
    except SetupFailed as error:
        log_line(str(error))
        return 1


def log_line(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
