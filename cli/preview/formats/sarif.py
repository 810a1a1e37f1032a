"""Formats the findings of a preview as SARIF 2.1.0. No I/O.

Code hosts such as GitHub show SARIF findings next to the lines of a file.
"""

from typing import Any, Final
from urllib.parse import quote

from cli.preview.findings.finding import RULE_DESCRIPTIONS, Finding, Rule, Severity, severity_of
from cli.preview.result import Preview

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES: Final = list(Rule)


def sarif(preview: Preview, default_file: str) -> dict[str, Any]:
    """The SARIF document.

    Code hosts require a file for each finding. `default_file` is the file for findings that have no file.
    """
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "tenancy preview", "rules": [_rule(rule) for rule in _RULES]}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, default_file) for finding in preview.findings(*Severity)],
            }
        ],
    }


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
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.file or default_file)},
                    "region": {"startLine": finding.line or 1},
                }
            }
        ],
    }
