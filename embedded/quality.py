"""`./dev test` and `./dev check`: run the tests and the static checks in the root folder of the checkout."""

import argparse
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from embedded.docs import build_options, site_folder
from embedded.environment import ROOT
from embedded.toolchain.resolver import ensure_tools, path_with

SCRIPTS = Path(sys.executable).parent
# The number of pytest-xdist workers. Each worker starts a control plane. Tests often wait, so three workers
# keep two CPU cores busy.
WORKERS = 3
_SEEDS = 10_000

CHECKS = {
    "style (ruff)": ["ruff", "check", "."],
    "formatting (ruff)": ["ruff", "format", "--check", "."],
    "types (mypy)": ["mypy"],
    "layers (import-linter)": ["lint-imports", "--no-cache"],
    "Go formatting (gofmt)": ["python", "-m", "embedded.toolchain.go_checks", "format"],
    "Go code (go vet)": ["python", "-m", "embedded.toolchain.go_checks", "vet"],
    "docs (sphinx)": ["sphinx-build", *build_options(site_folder())],
}


def test(args: argparse.Namespace) -> int:
    """Replace this process with pytest."""
    os.chdir(ROOT)
    options = pytest_options(args.pytest_arguments)
    environment = dict(os.environ)
    if "--quick" not in options:
        environment["PATH"] = path_with(ensure_tools())
    # exec replaces this process, so Ctrl-C reaches only pytest, and pytest can tear down its fixtures.
    os.execve(sys.executable, [sys.executable, "-m", "pytest", *options], environment)


def pytest_options(arguments: Sequence[str]) -> list[str]:
    """Convert the arguments of `./dev test` to options of pytest.

    If an argument is the path of tests, these tests run in one process, so that -x, -s and --pdb work.
    Otherwise, all tests run in several worker processes. For `--random-order`, this function prints the seed
    of the random order.
    """
    options: list[str] = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name == "--random-order":
            seed = value or str(secrets.randbelow(_SEEDS))
            print(f"Random order. To repeat it, run: ./dev test --random-order={seed}", flush=True)
            options += ["-p", "randomly", f"--randomly-seed={seed}"]
        elif argument == "--cov":
            options += ["--cov", "--cov-report=term"]
        else:
            options.append(argument)
    if any(Path(argument.partition("::")[0]).exists() for argument in arguments):
        return options
    return ["-n", str(WORKERS), *options, "tests"]


def check(_: argparse.Namespace) -> int:
    """Run all checks, then print one line per check."""
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
