"""Measures the CPU time and the memory of all descendants of a process, which must be a reaper (`reaper.py`).

- CPU time: the CPU time of all running processes, plus the CPU time of all ended processes. The kernel adds
  the CPU time of an ended process to the process that waits for it. So the sum includes processes that start
  and end between two readings. The error is at most 10 ms (the resolution of the kernel) for each running
  process.
- Memory: the sum of the proportional set sizes (PSS) of all running processes, read five times per second. If
  several processes share a page of memory, the PSS counts this page only once. The peak values of the kernel
  cannot be used, because the processes reach their peaks at different times.
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
    """The CPU time and the peak memory that the processes used during a measurement."""

    cpu_s: float = 0.0
    peak_mib: float = 0.0


class Meter:
    """Measures the descendants of one process. The process itself is not included."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)

    @contextmanager
    def measured(self) -> Iterator[Usage]:
        """Measure during the `with` block. After the block, the yielded `Usage` contains the values."""
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
        """The CPU time of all running and ended descendants since the start of the measured process."""
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
        """The memory that all descendants use now."""
        total = 0
        for process in self._descendants():
            try:
                memory = process.memory_full_info()
            except psutil.Error:
                continue
            # macOS has no PSS. Use the memory that only this process uses (USS) instead.
            total += getattr(memory, "pss", memory.uss)
        return total / _MIB

    def _descendants(self) -> list[psutil.Process]:
        return sorted(self._root.children(recursive=True), key=lambda process: process.pid)
