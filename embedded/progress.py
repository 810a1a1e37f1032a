"""Prints a progress line while a long step is running.

On a terminal, the line is updated in place every second. Otherwise, a new line is printed every 15 s. The
default stream is stderr, because stdout is for the output of the command.
"""

import math
import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

_CLEAR_LINE = "\r\x1b[2K"
# The remaining time is estimated only after this many seconds, because an earlier estimate is inaccurate.
_ESTIMATE_AFTER_S = 10.0


class Progress:
    """A context manager. While it is active, a background thread prints a progress line.

    The line contains the title, the text `detail` and the elapsed time. Any thread can change `detail`.
    """

    def __init__(self, title: str, stream: TextIO | None = None, interval_s: float | None = None) -> None:
        self.title = title
        self.detail = ""
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._interval_s = interval_s or (1 if self._is_terminal else 15)
        self._started = time.monotonic()
        self._finished = threading.Event()
        self._writer = threading.Thread(target=self._write_until_finished, daemon=True)

    def __enter__(self) -> Self:
        self._write(f"{self.title} …")
        self._writer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finished.set()
        self._writer.join()
        outcome = "done" if kind is None else "stopped"
        self._write(f"{self._line()}: {outcome}")
        if self._is_terminal:
            self._stream.write("\n")

    def _line(self) -> str:
        elapsed_s = int(time.monotonic() - self._started)
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.title}{detail}, {elapsed_s} s elapsed"

    def _write_until_finished(self) -> None:
        while not self._finished.wait(self._interval_s):
            self._write(self._line())

    def _write(self, line: str) -> None:
        if self._is_terminal:
            # Truncate the line, because _CLEAR_LINE cannot clear a line that is wrapped.
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"{_CLEAR_LINE}{line[:width]}")
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()


def share_text(done: float, total: float, elapsed_s: float) -> tuple[str, str]:
    """Two texts: the completed share, such as `42 %`, and the remaining time, such as `, about 6 min left`.

    The second text is empty in the first 10 seconds, and while the completed share is 0.
    """
    share = done / total if total else 1.0
    # Show at most 99 %, because this text is only shown while work remains.
    percent = f"{min(int(100 * share), 99)} %"
    if share <= 0 or elapsed_s < _ESTIMATE_AFTER_S:
        return percent, ""
    left_s = elapsed_s * (1 - share) / share
    left = f"about {math.ceil(left_s / 60)} min left" if left_s >= 60 else "less than a minute left"
    return percent, f", {left}"
