"""Finds the vulnerabilities of the Python packages in requirements.lock, and lists the packages for the SBOM.

pip-audit finds the vulnerabilities, and cyclonedx-py lists the packages. Both programs are installed in a
separate virtual environment, because their dependencies are not part of the product.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

from embedded import environment
from embedded.audit.scan import Scan, last_line
from embedded.toolchain.tools import MODULES

_LOCK_FILE: Final = MODULES / "audit" / "requirements.lock"


def python_vulnerabilities() -> Scan:
    options = ["--disable-pip", "--require-hashes", "--progress-spinner=off", "--format=json"]
    completed = _run("pip-audit", *options, "--requirement", str(environment.LOCK_FILE))
    return scan_from_output(completed.stdout, completed.stderr)


def scan_from_output(output: str, errors: str) -> Scan:
    """Parse the output of pip-audit.

    If pip-audit cannot check a package, it does not fail, but marks the package as skipped. Then `problem` of
    the result contains the number of skipped packages.
    """
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        return Scan(problem=last_line(errors))
    vulnerabilities = tuple(
        f"{package['name']} {package['version']}: {vulnerability['id']}"
        for package in packages
        for vulnerability in package.get("vulns", ())
    )
    skipped = [package["skip_reason"] for package in packages if "skip_reason" in package]
    problem = f"{len(skipped)} of {len(packages)} packages, for example: {skipped[0]}" if skipped else ""
    return Scan(vulnerabilities, problem)


def python_components() -> list[dict[str, Any]]:
    """The packages in the virtual environment of the product, in the format of CycloneDX components."""
    python = environment.environment_folder() / "bin" / "python"
    completed = _run("cyclonedx-py", "environment", "--output-format=JSON", str(python))
    completed.check_returncode()
    components: list[dict[str, Any]] = json.loads(completed.stdout)["components"]
    return components


def _run(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    folder = environment.ensure_environment(_LOCK_FILE)
    command: list[str | Path] = [folder / "bin" / program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
