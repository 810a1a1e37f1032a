"""The output formats of `tenancy prove`, and the report objects that it can write."""

import json
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from cli.prove.formats import ProofFormat, formatted
from cli.prove.report import TenantReport
from cli.prove.reports import report_manifest
from tenancy.base.kinds import REPORT_KINDS, Kind
from tenancy.isolation.catalog import CHECKS
from tenancy.isolation.evaluation import Outcome, Result

ANSWERS = {Outcome.PASSED: "rejected", Outcome.FAILED: "allowed \x07 <b>", Outcome.SKIPPED: "no pod"}
REPORT = TenantReport(
    tenant="acme",
    api_version="platform.ai/v1",
    results=tuple(
        Result(
            id=check.id,
            title=check.title,
            level=check.level,
            role=check.role.value,
            expected="RBAC",
            outcome=outcome,
            answer=answer,
        )
        for check, (outcome, answer) in zip(CHECKS, ANSWERS.items(), strict=False)
    ),
)
PASSED, FAILED, SKIPPED = (result.id for result in REPORT.results)


def test_json_contains_every_result() -> None:
    (report,) = json.loads(formatted([REPORT], ProofFormat.JSON))
    assert report["tenant"] == "acme"
    assert {each["id"]: each["outcome"] for each in report["results"]} == {
        PASSED: "passed",
        FAILED: "failed",
        SKIPPED: "skipped",
    }


def test_sarif_contains_failed_checks() -> None:
    (run,) = json.loads(formatted([REPORT], ProofFormat.SARIF))["runs"]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == FAILED
    assert "tenant acme: " in result["message"]["text"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "platform.ai/v1/tenants/acme"


def test_junit_counts_failed_and_skipped_checks() -> None:
    root = ElementTree.fromstring(formatted([REPORT], ProofFormat.JUNIT))
    suite = root[0]
    assert suite.attrib == {"name": "acme", "tests": "3", "failures": "1", "skipped": "1"}
    children = {case.attrib["name"]: [child.tag for child in case] for case in suite}
    assert children == {PASSED: [], FAILED: ["failure"], SKIPPED: ["skipped"]}
    assert "allowed ? <b>" in suite[1][0].attrib["message"]


@pytest.mark.parametrize("kind", REPORT_KINDS)
def test_report_object_names_the_tenant_and_every_result(kind: Kind) -> None:
    manifest = report_manifest(kind, REPORT, datetime(2026, 1, 1, tzinfo=UTC))
    assert manifest["scope"] == {"apiVersion": "platform.ai/v1", "kind": "Tenant", "name": "acme"}
    assert manifest["summary"] == {"pass": 1, "fail": 1, "skip": 1, "warn": 0, "error": 0}
    assert [each["result"] for each in manifest["results"]] == ["pass", "fail", "skip"]
