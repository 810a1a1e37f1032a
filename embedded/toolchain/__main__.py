"""Gets tools: `python -m embedded.toolchain NAME…`, with its progress on stderr.

A session runs it for tools that it can start without (`embedded/run/later_tools.py`).
"""

import os
import sys

from embedded.cli import unwind_on_signals
from embedded.errors import SetupFailed
from embedded.toolchain.resolver import ensure_tools

# The session's own processes come first.
NICENESS = 10


def main(names: list[str]) -> int:
    unwind_on_signals()
    os.nice(NICENESS)
    try:
        ensure_tools(names)
    except SetupFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
