"""`./dev docs`: builds the pages under `docs/` into a site on this machine.

Called by `embedded.cli`; `./dev check` and the tests use the same command. Warnings are errors.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from embedded.environment import ROOT, state_folder


def site_folder() -> Path:
    return state_folder() / "docs"


def build_options(site: Path) -> list[str]:
    """What sphinx-build is told. It reads every page anew: a page that is not read again warns of nothing."""
    return ["--fail-on-warning", "--keep-going", "--nitpicky", "--fresh-env", "-q", "docs", str(site)]


def docs(_: argparse.Namespace) -> int:
    site = site_folder()
    code = subprocess.call([sys.executable, "-m", "sphinx", *build_options(site)], cwd=ROOT)
    if code == 0:
        print(site / "index.html")
    return code
