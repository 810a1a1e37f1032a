"""`python -m embedded.toolchain NAME…`: downloads or builds tools at low CPU priority.

The program shows the progress on stderr.
"""

import os
import sys

from embedded.cli import unwind_on_signals
from embedded.errors import SetupFailed
from embedded.toolchain.resolver import ensure_tools

# `./dev run` runs this module in the background. The other processes of `./dev run` must have a higher
# priority.
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
