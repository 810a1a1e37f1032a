"""The command `./dev audit`.

It checks the Python packages and the Go modules of the product for known vulnerabilities, and lists their
licenses. It writes two SBOMs in the CycloneDX format: one for the Python packages, and one for the Go
modules.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from embedded.audit.go_modules import go_components, go_vulnerabilities
from embedded.audit.python_packages import python_components, python_vulnerabilities
from embedded.audit.scan import Scan
from embedded.environment import state_folder

# The exit codes. If a database of vulnerabilities cannot be reached, some dependencies are not checked. The
# command then fails too.
_VULNERABLE: Final = 1
_NOT_CHECKED: Final = 2
_UNKNOWN_LICENSE: Final = "unknown"

Component = dict[str, Any]


def audit(_: argparse.Namespace) -> int:
    """Run all scanners, write the SBOMs, and print the results."""
    scans = {
        "Python packages (pip-audit)": python_vulnerabilities(),
        "Go modules (govulncheck)": go_vulnerabilities(),
    }
    parts = {"python": python_components(), "go": go_components()}
    for name, components in parts.items():
        _write_sbom(name, components)
    print("\nLicenses:")
    for line in license_lines(component for components in parts.values() for component in components):
        print(f"  {line}")
    print()
    for title, scan in scans.items():
        print(f"{title:<28} {scan.text}")
    return exit_code(scans.values())


def exit_code(scans: Iterable[Scan]) -> int:
    """1 if there are known vulnerabilities, 2 if a scanner could not check all dependencies, otherwise 0."""
    results = list(scans)
    if any(scan.vulnerabilities for scan in results):
        return _VULNERABLE
    return _NOT_CHECKED if any(scan.problem for scan in results) else 0


def license_lines(components: Iterable[Component]) -> list[str]:
    """One line for each license. The line lists the components that have this license."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for component in components:
        names[license_of(component)].add(component["name"])
    return [
        f"{license_name}: {', '.join(sorted(names[license_name]))}"
        for license_name in sorted(names, key=lambda name: (name == _UNKNOWN_LICENSE, name.lower()))
    ]


def license_of(component: Component) -> str:
    """The license of a component in an SBOM, such as `MIT`, or `unknown` if the component has no license."""
    texts = [
        entry.get("expression") or entry["license"].get("id") or entry["license"].get("name", "")
        for entry in component.get("licenses", ())
    ]
    # In some packages, the name of the license is the whole text of the license.
    first_lines = [text.strip().splitlines()[0] for text in texts if text.strip()]
    return " AND ".join(dict.fromkeys(first_lines)) or _UNKNOWN_LICENSE


def _write_sbom(name: str, components: list[Component]) -> None:
    path = state_folder() / f"sbom-{name}.cdx.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(f"SBOM: {path} ({len(components)} components)")
