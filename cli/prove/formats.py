"""Formats the reports of tenants as a table, JSON, SARIF or JUnit. No I/O, except for the table."""

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final
from xml.etree import ElementTree

from rich.text import Text

from cli.output import console, print_table
from cli.prove.report import TenantReport
from cli.sarif import sarif_document, sarif_location
from tenancy.isolation.catalog import CHECKS
from tenancy.isolation.check import Check
from tenancy.isolation.evaluation import Outcome, Result


class ProofFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


_STYLES: Final = {Outcome.PASSED: "green", Outcome.FAILED: "bold red", Outcome.SKIPPED: "yellow"}
_COLUMNS: Final = ("RESULT", "CHECK", "LEVEL", "ROLE", "ATTEMPT", "ANSWER")
_RULE_INDEX: Final = {check.id: index for index, check in enumerate(CHECKS)}
# XML cannot contain these characters.
_NOT_XML: Final = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def print_reports(reports: Sequence[TenantReport], form: ProofFormat) -> None:
    """Print the reports to standard output."""
    if form is ProofFormat.TABLE:
        for report in reports:
            print_table(_COLUMNS, [_cells(result) for result in report.results])
            console.print(Text(report.summary, style="bold"))
        return
    # Do not print with rich, because it would wrap long lines.
    print(formatted(reports, form))


def formatted(reports: Sequence[TenantReport], form: ProofFormat) -> str:
    """The reports as JSON, SARIF or JUnit."""
    if form is ProofFormat.JUNIT:
        return _junit(reports)
    data: Any = _sarif(reports)
    if form is ProofFormat.JSON:
        data = [report.model_dump(by_alias=True, mode="json") for report in reports]
    return json.dumps(data, indent=2, ensure_ascii=False)


def _cells(result: Result) -> list[str | Text]:
    outcome = Text(result.outcome.value, style=_STYLES[result.outcome])
    return [outcome, result.id, str(result.level), result.role, result.title, result.answer]


def _sarif(reports: Sequence[TenantReport]) -> dict[str, Any]:
    """The SARIF document.

    It has results only for failed checks, because code hosts show each result as a problem.
    """
    failures = [
        _sarif_result(report, result)
        for report in reports
        for result in report.results
        if result.outcome is Outcome.FAILED
    ]
    return sarif_document("tenancy prove", [_sarif_rule(check) for check in CHECKS], failures)


def _sarif_rule(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "shortDescription": {"text": check.title},
        "defaultConfiguration": {"level": "error"},
        "properties": {"level": check.level.value, "role": check.role.value},
    }


def _sarif_result(report: TenantReport, result: Result) -> dict[str, Any]:
    return {
        "ruleId": result.id,
        "ruleIndex": _RULE_INDEX[result.id],
        "level": "error",
        "message": {"text": f"tenant {report.tenant}: {result.title}: {result.answer}"},
        "locations": [sarif_location(f"{report.api_version}/tenants/{report.tenant}", 1)],
    }


def _junit(reports: Sequence[TenantReport]) -> str:
    root = ElementTree.Element("testsuites", name="tenancy prove")
    for report in reports:
        counts = {
            "tests": str(len(report.results)),
            "failures": str(report.counts[Outcome.FAILED]),
            "skipped": str(report.counts[Outcome.SKIPPED]),
        }
        suite = ElementTree.SubElement(root, "testsuite", {"name": report.tenant, **counts})
        for result in report.results:
            case = ElementTree.SubElement(suite, "testcase", classname=result.role, name=result.id)
            message = _NOT_XML.sub("?", f"{result.title}: {result.answer}")
            if result.outcome is Outcome.FAILED:
                ElementTree.SubElement(case, "failure", message=message)
            elif result.outcome is Outcome.SKIPPED:
                ElementTree.SubElement(case, "skipped", message=message)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
