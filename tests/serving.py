"""Starts servers for tests on free ports of the loopback address."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from embedded.controlplane.loopback import free_port
from embedded.controlplane.processes import ProcessGroup, log_tail
from tests.waiting import eventually

_ATTEMPTS = 5
_TAKEN = "address already in use"

# A function that writes the server's configuration for these ports, and returns the command line of the
# server.
Prepare = Callable[[list[int]], Sequence[str | Path]]


class Serving(NamedTuple):
    """A running server that accepts requests."""

    ports: list[int]
    pid: int


class PortTaken(Exception):
    """Another program bound a port after the test had chosen it."""


@contextmanager
def serving(
    name: str,
    prepare: Prepare,
    is_ready: Callable[[list[int]], bool],
    folder: Path,
    *,
    port_count: int = 1,
    env: Mapping[str, str] | None = None,
) -> Iterator[Serving]:
    """Run the server `name`, write its log to `folder`, and stop the server at the end.

    These servers cannot choose free ports themselves, so this function chooses `port_count` ports. If another
    program takes a chosen port, the function starts the server again on other ports.
    """
    for attempt in range(_ATTEMPTS):
        group = ProcessGroup()
        try:
            try:
                program = _start(
                    group, name, prepare, is_ready, folder / f"{name}-{attempt}.log", port_count, env
                )
            except PortTaken:
                continue
            yield program
            return
        finally:
            group.stop()
    raise AssertionError(f"{name} did not start: a port was taken in each of {_ATTEMPTS} attempts")


def _start(
    group: ProcessGroup,
    name: str,
    prepare: Prepare,
    is_ready: Callable[[list[int]], bool],
    log: Path,
    port_count: int,
    env: Mapping[str, str] | None,
) -> Serving:
    ports = [free_port() for _ in range(port_count)]

    def is_up() -> bool:
        if group.exits():
            tail = log_tail(log)
            if _TAKEN in tail.lower():
                raise PortTaken
            raise AssertionError(f"{name} exited. Last lines of its log:\n{tail}")
        return is_ready(ports)

    pid = group.start(name, prepare(ports), log=log, cwd=log.parent, env=env)
    eventually(is_up, f"{name} is ready; see {log}")
    return Serving(ports, pid)
