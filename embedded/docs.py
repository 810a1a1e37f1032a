"""`./dev docs`: builds a local HTML site from the pages under `docs/`. Warnings count as errors."""

import argparse
import subprocess
import sys
from pathlib import Path

from embedded.environment import ROOT, state_folder


def site_folder() -> Path:
    return state_folder() / "docs"


def build_options(site: Path) -> list[str]:
    """The options for sphinx-build, which writes the HTML site to the folder `site`.

    Sphinx reports warnings only for the pages that it reads. `--fresh-env` makes Sphinx read all pages, not
    only the changed pages.
    """
    return ["--fail-on-warning", "--keep-going", "--nitpicky", "--fresh-env", "-q", "docs", str(site)]


def docs(_: argparse.Namespace) -> int:
    site = site_folder()
    code = subprocess.call([sys.executable, "-m", "sphinx", *build_options(site)], cwd=ROOT)
    if code == 0:
        print(site / "index.html")
    return code
