"""`./dev test` and `./dev check`: what has to pass before a change is good.

Called by `embedded.cli`, inside the virtual environment. Both run from the root of the checkout.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from embedded.docs import build_options, site_folder
from embedded.environment import ROOT
from embedded.toolchain.resolver import ensure_tools, path_with

SCRIPTS = Path(sys.executable).parent

CHECKS = {
    "style (ruff)": ["ruff", "check", "."],
    "formatting (ruff)": ["ruff", "format", "--check", "."],
    "types (mypy)": ["mypy"],
    "layers (import-linter)": ["lint-imports", "--no-cache"],
    "docs (sphinx)": ["sphinx-build", *build_options(site_folder())],
}


def test(args: argparse.Namespace) -> int:
    environment = os.environ | {"PATH": path_with(ensure_tools())}
    pytest = [sys.executable, "-m", "pytest", "--cov", "--cov-report=term"]
    os.chdir(ROOT)
    # In place of this process, so that Ctrl-C reaches pytest alone and it can take down what it set up.
    os.execve(sys.executable, [*pytest, *(args.pytest_arguments or ["tests"])], environment)


def check(_: argparse.Namespace) -> int:
    rows = []
    for title, (script, *options) in CHECKS.items():
        print(f"== {title}", flush=True)
        started = time.monotonic()
        is_passed = subprocess.call([str(SCRIPTS / script), *options], cwd=ROOT) == 0
        rows.append((title, is_passed, time.monotonic() - started))
    print()
    for title, is_passed, took_s in rows:
        print(f"{title:<24} {'passed' if is_passed else 'FAILED'} {took_s:6.1f} s")
    return 0 if all(is_passed for _, is_passed, _ in rows) else 1
