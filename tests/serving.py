"""Programs that tests start, each on ports of this machine that nobody else has."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from embedded.controlplane.loopback import free_port
from embedded.controlplane.processes import ProcessGroup, log_tail
from tests.waiting import eventually

_ATTEMPTS = 5
_TAKEN = "address already in use"

# Writes what the program needs for these ports, and returns its command line.
Prepare = Callable[[list[int]], Sequence[str | Path]]


class Serving(NamedTuple):
    """A program that is ready to be asked."""

    ports: list[int]
    pid: int


class PortTaken(Exception):
    """Another program took a port between its choice and its use."""


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
    """Run the program in `folder`. None of ours can choose its ports itself, so it is started again on others
    if one is taken by then."""
    for attempt in range(_ATTEMPTS):
        group = ProcessGroup()
        try:
            try:
                started = _start(
                    group, name, prepare, is_ready, folder / f"{name}-{attempt}.log", port_count, env
                )
            except PortTaken:
                continue
            yield started
            return
        finally:
            group.stop()
    raise AssertionError(f"{name} found a port taken {_ATTEMPTS} times")


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
            raise AssertionError(f"{name} ended. The end of its log:\n{tail}")
        return is_ready(ports)

    pid = group.start(name, prepare(ports), log=log, cwd=log.parent, env=env)
    eventually(is_up, f"{name} is ready; see {log}")
    return Serving(ports, pid)
