"""The one error that `./dev` shows without a traceback.

Raised by the modules that prepare the environment and the tools, caught by `embedded.cli`.
"""


class SetupFailed(Exception):
    """Something `./dev` needs could not be made ready; the message says what to do next."""
