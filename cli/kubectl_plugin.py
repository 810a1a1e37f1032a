"""The entry points of the kubectl plugin: `kubectl tenancy`, and its shell completion.

kubectl runs the executable `kubectl-tenancy` for `kubectl tenancy`. To complete a word after `tenancy`,
kubectl runs `kubectl_complete-tenancy` with all words after `tenancy`. The last word is the incomplete word.
"""

import os
import shlex
import sys
from typing import Final

from cli import main as tenancy

# kubectl expects a directive in the last line of the output. With this directive, the shell completes file
# names if there are no other completions.
_DEFAULT_DIRECTIVE: Final = ":0"


def main() -> None:
    """Run `tenancy` as `kubectl tenancy`."""
    # Hide Typer's options that install shell completion. They do not work for a plugin of kubectl.
    tenancy.app._add_completion = False
    tenancy.main("kubectl tenancy")


def complete() -> None:
    """Print the completions of the last argument, one per line. The last line is a directive for kubectl."""
    words = ["tenancy", *sys.argv[1:]]
    os.environ["_TENANCY_COMPLETE"] = "complete_bash"
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = shlex.join(words), str(len(words) - 1)
    try:
        tenancy.main()
    finally:
        print(_DEFAULT_DIRECTIVE)
