"""The meter of `./dev bench` measures the CPU time and the memory of all descendants of a reaper."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from embedded.bench.meter import Meter
from embedded.bench.reaper import reaper_argv
from embedded.environment import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")

# The first process starts a second process. The second process starts a third process and ends, so the third
# process becomes an orphan. The third process uses CPU time, reports this, and ends. Then the first process
# waits until its stdin is closed.
ORPHAN = """
import os, sys, time
if os.fork() == 0:
    if os.fork() == 0:
        while time.process_time() < 0.3:
            pass
        os.write(1, b"used\\n")
    os._exit(0)
os.wait()
sys.stdin.read()
"""
ALLOCATION = (
    "import sys; data = bytearray(b'x' * (64 << 20)); print('allocated', flush=True); sys.stdin.read()"
)


def started(program: str) -> "subprocess.Popen[str]":
    argv = reaper_argv([sys.executable, "-I", "-S", "-c", textwrap.dedent(program)])
    return subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_cpu_time_of_an_ended_orphan_is_counted() -> None:
    with started(ORPHAN) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "used\n"
        root = psutil.Process(process.pid)
        # After the reaper has waited for the orphan, only the first process remains.
        while len(root.children(recursive=True)) > 1:
            root.children()
        assert Meter(process.pid).cpu_s() >= 0.28


def test_memory_is_the_peak_during_the_measurement() -> None:
    with started(ALLOCATION) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with Meter(process.pid).measured() as usage:
            pass
        assert 64 < usage.peak_mib < 128


def test_reaper_forwards_sigterm_and_the_exit_code(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    program = f"""
        import signal, sys
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        open({str(ready)!r}, "w").close()
        signal.pause()
    """
    with started(program) as process:
        ready.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 7
