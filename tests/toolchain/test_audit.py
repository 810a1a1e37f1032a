"""`./dev audit`: the results of the scanners, the exit code, and the components of Go programs."""

import json
from pathlib import Path
from typing import Any

import pytest

from embedded.audit.command import exit_code, license_lines
from embedded.audit.go_modules import component, findings, modules_in
from embedded.audit.python_packages import scan_from_output
from embedded.audit.scan import Scan

CLEAN = Scan()
VULNERABLE = Scan(("package 1.0: PYSEC-1",))
NOT_CHECKED = Scan(problem="cannot reach the database")


@pytest.mark.parametrize(
    ("scans", "code"),
    [
        ((CLEAN, CLEAN), 0),
        ((CLEAN, VULNERABLE), 1),
        ((NOT_CHECKED, VULNERABLE), 1),
        ((CLEAN, NOT_CHECKED), 2),
    ],
)
def test_exit_code_says_whether_all_is_checked(scans: tuple[Scan, ...], code: int) -> None:
    assert exit_code(scans) == code


def test_unreachable_database_is_reported() -> None:
    scan = scan_from_output("", "WARNING: retry\nERROR: connection refused\n")
    assert scan.text == "NOT CHECKED: ERROR: connection refused"


def test_skipped_package_is_not_checked() -> None:
    """pip-audit reports success even if it has skipped a package about which its database has no data."""
    packages = [{"name": "good", "version": "1", "vulns": []}, {"name": "other", "skip_reason": "not found"}]
    scan = scan_from_output(json.dumps({"dependencies": packages}), "No known vulnerabilities found")
    assert scan.text == "NOT CHECKED: 1 of 2 packages, for example: not found"
    assert exit_code([scan]) == 2


def test_vulnerable_package_is_reported() -> None:
    packages = [
        {"name": "good", "version": "1", "vulns": []},
        {"name": "bad", "version": "2", "vulns": [{"id": "PYSEC-1"}]},
    ]
    scan = scan_from_output(json.dumps({"dependencies": packages}), "")
    assert scan.text == "known vulnerabilities: 1\n  bad 2: PYSEC-1"


def test_findings_of_govulncheck_are_read() -> None:
    finding = {"osv": "GO-1", "trace": [{"module": "example.com/m", "version": "v1.0.0"}]}
    messages: list[dict[str, Any]] = [{"config": {}}, {"finding": finding}]
    output = "\n".join(json.dumps(message, indent=2) for message in messages)
    assert list(findings(f"{output}\n")) == ["example.com/m v1.0.0: GO-1"]


def test_modules_of_a_program_are_those_that_it_contains() -> None:
    output = (
        "program: go1.26\n\tpath\tcommand\n\tdep\texample.com/a\tv1.0.0\th1:x=\n"
        "\tdep\texample.com/b\tv1.0.0\n\t=>\texample.com/fork\tv2.0.0\th1:y=\n"
        "\tdep\texample.com/c\tv1.0.0\n\t=>\t./c\t(devel)\n\tbuild\tCGO_ENABLED=0\n"
    )
    assert list(modules_in(output)) == [("example.com/a", "v1.0.0"), ("example.com/fork", "v2.0.0")]


def test_license_of_a_module_is_read_from_the_module_cache(tmp_path: Path) -> None:
    folder = tmp_path / "example.com" / "!a@v1.0.0"
    folder.mkdir(parents=True)
    (folder / "LICENSE").write_text("Permission is hereby granted, free\n of charge, to any person")
    known, unknown = (component(name, "v1.0.0", tmp_path) for name in ("example.com/A", "example.com/b"))
    assert known["purl"] == "pkg:golang/example.com/A@v1.0.0"
    assert license_lines([unknown, known]) == ["MIT: example.com/A", "unknown: example.com/b"]
