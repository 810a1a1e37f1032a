"""Runs `tenancy` on a terminal, and types an answer to its question."""

import os
import pty
import subprocess
import sys

from tests.platform import ROOT, Platform


def run_on_terminal(platform: Platform, answer: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run `tenancy` on a terminal. `answer` is typed as the answer to its question."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer.encode())
        return subprocess.run(
            [sys.executable, "-m", "cli.main", *arguments],
            cwd=ROOT,
            env={**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)},
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
