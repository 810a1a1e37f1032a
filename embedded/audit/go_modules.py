"""Finds the vulnerabilities of the Go modules in the product's programs, and lists the modules for the SBOM.

govulncheck finds the vulnerabilities. The programs themselves contain the list of modules: Go writes the
versions of all modules to each program that it builds.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from embedded.audit.scan import Scan, last_line
from embedded.toolchain.golang import ensure_go, go_environment
from embedded.toolchain.resolver import ensure_tools
from embedded.toolchain.tools import AUDIT_TOOLS, ENGINE_FOLDER, STACK_TOOLS

# Pairs of a license and several phrases. If a license file contains all phrases, it is the text of this
# license. The first matching pair is used.
_PHRASES: Final = (
    ("Apache-2.0", ("Apache License", "Version 2.0")),
    ("MPL-2.0", ("Mozilla Public License", "2.0")),
    ("BSD-3-Clause", ("Redistribution and use in source and binary forms", "Neither the name")),
    ("BSD-2-Clause", ("Redistribution and use in source and binary forms",)),
    ("ISC", ("Permission to use, copy, modify, and",)),
    ("MIT", ("Permission is hereby granted, free of charge",)),
)
_LICENSE_FILES: Final = ("LICENSE*", "LICENCE*", "License*", "license*", "COPYING*")


def go_vulnerabilities() -> Scan:
    [govulncheck] = ensure_tools(AUDIT_TOOLS).values()
    vulnerabilities: set[str] = set()
    for program in ensure_tools(STACK_TOOLS).values():
        command: list[str | Path] = [govulncheck, "-mode=binary", "-format=json", program]
        completed = subprocess.run(command, capture_output=True, text=True, check=False)
        if completed.returncode != 0:
            return Scan(problem=last_line(completed.stderr))
        vulnerabilities.update(f"{program.name}: {finding}" for finding in findings(completed.stdout))
    return Scan(tuple(sorted(vulnerabilities)))


def findings(output: str) -> Iterator[str]:
    """Yield one line for each vulnerability in the output of govulncheck: `MODULE VERSION: GO-2025-1234`.

    The output is a sequence of JSON objects.
    """
    decoder, position = json.JSONDecoder(), 0
    while position < len(output.rstrip()):
        position += len(output[position:]) - len(output[position:].lstrip())
        message, position = decoder.raw_decode(output, position)
        if finding := message.get("finding"):
            module = finding["trace"][0]
            yield f"{module['module']} {module.get('version', '')}: {finding['osv']}"


def go_components() -> list[dict[str, Any]]:
    """The Go modules in the product's programs, in the format of CycloneDX components."""
    go = ensure_go(ENGINE_FOLDER)
    cache = Path(_output(go, "env", "GOMODCACHE").strip())
    modules = {
        module
        for program in ensure_tools(STACK_TOOLS).values()
        for module in modules_in(_output(go, "version", "-m", program))
    }
    return [component(name, version, cache) for name, version in sorted(modules)]


def modules_in(output: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the version of each module in the output of `go version -m`.

    A module can be replaced by another module. Then the next line starts with `=>` and contains the other
    module, and only the other module is yielded. If a module is replaced by a folder of this repository,
    nothing is yielded.
    """
    entries = re.findall(r"^\t(dep|=>)\t(\S+)\t(\S+)", output, re.MULTILINE)
    for index, (_, name, version) in enumerate(entries):
        is_replaced = index + 1 < len(entries) and entries[index + 1][0] == "=>"
        if not is_replaced and not name.startswith("."):
            yield name, version


def component(name: str, version: str, cache: Path) -> dict[str, Any]:
    result = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:golang/{name}@{version}",
        "bom-ref": f"pkg:golang/{name}@{version}",
    }
    license_id = _license_id(cache / f"{_escaped(name)}@{_escaped(version)}")
    return {**result, "licenses": [{"license": {"id": license_id}}]} if license_id else result


def _license_id(folder: Path) -> str:
    """The SPDX identifier of a module's license. Empty if the license is not recognized.

    `folder` is the folder of the module, which contains the license file.
    """
    for pattern in _LICENSE_FILES:
        for path in sorted(filter(Path.is_file, folder.glob(pattern))):
            text = " ".join(path.read_text(encoding="utf-8", errors="replace").split())
            for license_id, phrases in _PHRASES:
                if all(phrase in text for phrase in phrases):
                    return license_id
    return ""


def _escaped(text: str) -> str:
    """Convert a module name or version to the form that paths in Go's module cache use.

    For example, `A` becomes `!a`.
    """
    return re.sub("[A-Z]", lambda match: f"!{match[0].lower()}", text)


def _output(go: Path, *arguments: str | Path) -> str:
    environment = {**os.environ, **go_environment()}
    command = [go, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
