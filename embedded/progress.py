"""One line that says what a long step is doing and for how long.

Called around anything over two seconds. On a terminal the line rewrites itself every second; elsewhere
a new line comes every 15 s. It writes to stderr only, so that a command's output stays clean.
"""

import math
import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

_CLEAR_LINE = "\r\x1b[2K"
# Before that, one slow or fast start would make the estimate worthless.
_ESTIMATE_AFTER_S = 10.0


class Progress:
    """Set `detail` whenever there is news; a thread of its own does the writing."""

    def __init__(self, title: str, stream: TextIO | None = None, interval_s: float | None = None) -> None:
        self.title = title
        self.detail = ""
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._interval_s = interval_s or (1 if self._is_terminal else 15)
        self._started = time.monotonic()
        self._is_over = threading.Event()
        self._writer = threading.Thread(target=self._write_until_over, daemon=True)

    def __enter__(self) -> Self:
        self._write(f"{self.title} …")
        self._writer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._writer.join()
        outcome = "done" if kind is None else "stopped"
        self._write(f"{self._line()}: {outcome}")
        if self._is_terminal:
            self._stream.write("\n")

    def _line(self) -> str:
        elapsed_s = int(time.monotonic() - self._started)
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.title}{detail}, {elapsed_s} s"

    def _write_until_over(self) -> None:
        while not self._is_over.wait(self._interval_s):
            self._write(self._line())

    def _write(self, line: str) -> None:
        if self._is_terminal:
            # A line that wraps could not be rewritten.
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"{_CLEAR_LINE}{line[:width]}")
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()


def share_text(done: float, total: float, elapsed_s: float) -> tuple[str, str]:
    """The share that is done, for example "42 %", and how long the rest takes at the same speed.

    The second text is empty as long as nothing can be said, else for example ", about 6 min left".
    """
    share = done / total if total else 1.0
    # 100 % is for what has ended.
    percent = f"{min(int(100 * share), 99)} %"
    if share <= 0 or elapsed_s < _ESTIMATE_AFTER_S:
        return percent, ""
    left_s = elapsed_s * (1 - share) / share
    left = f"about {math.ceil(left_s / 60)} min left" if left_s >= 60 else "less than a minute left"
    return percent, f", {left}"
