"""The errors of a control plane that cannot start, and a function that starts it again if a port is taken."""

from collections.abc import Callable

from embedded.errors import SetupFailed

# The maximum number of attempts to start. The start is repeated only if another program uses a chosen port.
START_ATTEMPTS = 5


class ControlPlaneError(SetupFailed):
    """The control plane cannot start, or one of its processes has exited.

    If the error is about a process, the message contains the last lines of the process's log.
    """


class PortTaken(ControlPlaneError):
    """Another program has taken the port that was chosen for a process of the control plane."""


def retry_on_taken_port(start: Callable[[], None]) -> None:
    """Call `start`. If it raises PortTaken, call it again, at most START_ATTEMPTS times in total."""
    for _ in range(START_ATTEMPTS - 1):
        try:
            start()
        except PortTaken:
            continue
        return
    start()
