"""Formats the findings of a preview as SARIF 2.1.0. No I/O.

Code hosts such as GitHub show each finding next to the line of the file that causes it.
"""

from typing import Any, Final

from cli.preview.findings.finding import RULE_DESCRIPTIONS, Finding, Rule, Severity, severity_of
from cli.preview.result import Preview
from cli.sarif import sarif_document, sarif_location

_RULES: Final = list(Rule)


def sarif(preview: Preview, default_file: str) -> dict[str, Any]:
    """The SARIF document.

    Code hosts require a file for each finding. `default_file` is the file for findings that have no file.
    """
    return sarif_document(
        "tenancy preview",
        [_rule(rule) for rule in _RULES],
        [_result(finding, default_file) for finding in preview.findings(*Severity)],
    )


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.value,
        "shortDescription": {"text": RULE_DESCRIPTIONS[rule]},
        "defaultConfiguration": {"level": severity_of(rule).value},
    }


def _result(finding: Finding, default_file: str) -> dict[str, Any]:
    message = f"tenant {finding.tenant}: {finding.message}" if finding.tenant else finding.message
    return {
        "ruleId": finding.rule.value,
        "ruleIndex": _RULES.index(finding.rule),
        "level": finding.severity.value,
        "message": {"text": message},
        "locations": [sarif_location(finding.file or default_file, finding.line or 1)],
    }
