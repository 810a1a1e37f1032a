"""The error that `./dev` prints without a traceback."""


class SetupFailed(Exception):
    """A `./dev` command cannot continue. The message names the cause and the next step."""
