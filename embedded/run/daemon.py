"""A session in the background, `python -m embedded.run.daemon TOOLS [CONTEXT]`: it runs until SIGTERM.

Started by `detach.py`. It shows nothing: its words go to the session's log.
"""

import json
import signal
import sys
import time
from pathlib import Path

from embedded.errors import SetupFailed
from embedded.run.state_folder import StateFolder
from embedded.run.supervisor import Supervisor

TEND_S = 1.0


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    tools = {name: Path(path) for name, path in json.loads(arguments[0]).items()}
    context = arguments[1] if len(arguments) > 1 else None
    try:
        with Supervisor(StateFolder.current(), tools, context=context) as supervisor:
            supervisor.get_later_tools(say)
            while True:
                supervisor.tend(say, timeout_s=TEND_S)
    except SetupFailed as error:
        say(str(error))
        return 1


def say(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
