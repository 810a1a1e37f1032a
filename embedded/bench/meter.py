"""Measures the CPU time and the memory of all processes below a reaper (`reaper`).

- CPU time: the sum over all living processes of their own time and the time of the ended processes that they
  waited for. So processes that start and end between two readings are included, because their parent or the
  reaper waits for them. The error is at most 10 ms, the resolution of the kernel, for each living process.
- Memory: the sum of the proportional set sizes (PSS), read several times a second. Unlike the resident set
  size, the PSS does not count a page several times if several processes share it. The kernel records the peak
  of each process, but not of their sum, and the processes reach their peaks at different times.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import psutil

_SAMPLE_S: Final = 0.2
_MIB: Final = 2**20


@dataclass
class Usage:
    """The CPU time and the largest amount of memory during a measurement."""

    cpu_s: float = 0.0
    peak_mib: float = 0.0


class Meter:
    """Measures the descendants of one process. The process itself is not included."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)

    @contextmanager
    def measured(self) -> Iterator[Usage]:
        """Measure until the end of the `with` block. The figures are complete after the block."""
        usage, is_over = Usage(), threading.Event()

        def sample() -> None:
            while not is_over.wait(_SAMPLE_S):
                usage.peak_mib = max(usage.peak_mib, self.memory_mib())

        usage.peak_mib = self.memory_mib()
        before_s = self.cpu_s()
        sampler = threading.Thread(target=sample, daemon=True)
        sampler.start()
        try:
            yield usage
        finally:
            is_over.set()
            sampler.join()
        usage.cpu_s = self.cpu_s() - before_s

    def cpu_s(self) -> float:
        """The CPU time of all descendants since the start of the root process."""
        while True:
            processes = self._descendants()
            try:
                waited_for = self._root.cpu_times()
                total_s = waited_for.children_user + waited_for.children_system
                total_s += sum(sum(process.cpu_times()[:4]) for process in processes)
            except psutil.NoSuchProcess:
                continue
            # If a process ended meanwhile, its time may be missing or counted twice.
            if self._descendants() == processes:
                return total_s

    def memory_mib(self) -> float:
        """The memory in use by all descendants now."""
        total = 0
        for process in self._descendants():
            try:
                memory = process.memory_full_info()
            except psutil.Error:
                continue
            # macOS has no PSS.
            total += getattr(memory, "pss", memory.uss)
        return total / _MIB

    def names(self) -> set[str]:
        """The names of the programs that run now."""
        names = set()
        for process in self._descendants():
            try:
                names.add(process.name())
            except psutil.Error:
                continue
        return names

    def _descendants(self) -> list[psutil.Process]:
        return sorted(self._root.children(recursive=True), key=lambda process: process.pid)
