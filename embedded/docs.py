"""`./dev docs`: builds the pages under `docs/` into a local HTML site. Warnings are errors."""

import argparse
import subprocess
import sys
from pathlib import Path

from embedded.environment import ROOT, state_folder


def site_folder() -> Path:
    return state_folder() / "docs"


def build_options(site: Path) -> list[str]:
    """Options for sphinx-build. It reads every page again, because unchanged pages print no warnings."""
    return ["--fail-on-warning", "--keep-going", "--nitpicky", "--fresh-env", "-q", "docs", str(site)]


def docs(_: argparse.Namespace) -> int:
    site = site_folder()
    code = subprocess.call([sys.executable, "-m", "sphinx", *build_options(site)], cwd=ROOT)
    if code == 0:
        print(site / "index.html")
    return code
