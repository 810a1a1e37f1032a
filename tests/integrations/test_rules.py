"""The alerts fire when they should. promtool evaluates the shipped rules."""

import subprocess
from pathlib import Path

import pytest
import yaml

from tenancy.platform.grafana_dashboard import dashboard
from tenancy.platform.prometheus import prometheus_rule
from tenancy.platform.settings import PlatformSettings

SERIES_LABELS = 'tenant="acme", namespace="tenant-acme", resource="pods"'
EXCEEDED = "TenantResourceQuotaExceeded"
# The values of each time series, one value per minute. `5x3` means 5, 5, 5, 5, and `0+1x3` means 0, 1, 2, 3.
Input = dict[str, str]
# An expected alert: its labels without the severity, and its summary.
Firing = tuple[dict[str, str], str]


def quota(used: str, hard: str = "20x30", name: str = "tenant-quota") -> Input:
    labels = f'{SERIES_LABELS}, quota="{name}"'
    return {f"tenancy_quota_used{{{labels}}}": used, f"tenancy_quota_hard{{{labels}}}": hard}


def promtool(binary: Path, *arguments: str, folder: Path) -> None:
    completed = subprocess.run(
        [binary, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """The path of a file with the shipped rules."""
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(prometheus_rule(PlatformSettings())["spec"]))
    return file


def expect(binary: Path, rules: Path, series: Input, alert: str, firing: dict[int, list[Firing]]) -> None:
    """Check which alerts fire.

    The keys of `firing` are minutes. The values are the alerts that must fire at this minute.
    """
    groups = yaml.safe_load(rules.read_text())["groups"]
    rule = {rule["alert"]: rule for group in groups for rule in group["rules"]}[alert]
    description = rule["annotations"]["description"]
    checks = [
        {
            "eval_time": f"{minute}m",
            "alertname": alert,
            "exp_alerts": [
                {
                    "exp_labels": {**rule["labels"], **labels},
                    "exp_annotations": {"summary": summary, "description": description},
                }
                for labels, summary in alerts
            ],
        }
        for minute, alerts in firing.items()
    ]
    input_series = [{"series": name, "values": values} for name, values in series.items()]
    case = {"interval": "1m", "input_series": input_series, "alert_rule_test": checks}
    document = {"rule_files": [rules.name], "evaluation_interval": "1m", "tests": [case]}
    test = rules.with_name("test.yaml")
    test.write_text(yaml.safe_dump(document))
    promtool(binary, "test", "rules", test.name, folder=rules.parent)


def exceeded(share: str) -> Firing:
    labels = {"tenant": "acme", "namespace": "tenant-acme", "resource": "pods"}
    return labels, f"acme uses {share} of its pods quota in tenant-acme"


def test_rules_are_valid(promtool_binary: Path, rules: Path) -> None:
    promtool(promtool_binary, "check", "rules", "--lint=all", "--lint-fatal", rules.name, folder=rules.parent)


def test_queries_of_the_dashboard_are_valid(promtool_binary: Path, tmp_path: Path) -> None:
    queries = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    recording_rules = [{"record": f"panel_{number}", "expr": query} for number, query in enumerate(queries)]
    (tmp_path / "queries.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "all", "rules": recording_rules}]})
    )
    promtool(promtool_binary, "check", "rules", "queries.yaml", folder=tmp_path)


def test_quota_used_above_90_percent_fires_after_5_minutes(promtool_binary: Path, rules: Path) -> None:
    firing = {0: [], 4: [], 5: [exceeded("95%")], 20: [exceeded("95%")]}
    expect(promtool_binary, rules, quota("19x30"), EXCEEDED, firing)


@pytest.mark.parametrize("used", ["16x30", "18x30"])
def test_quota_used_to_80_or_just_90_percent_never_fires(
    promtool_binary: Path, rules: Path, used: str
) -> None:
    expect(promtool_binary, rules, quota(used), EXCEEDED, {minute: [] for minute in (0, 5, 6, 30)})


def test_moment_below_begins_the_5_minutes_again(promtool_binary: Path, rules: Path) -> None:
    firing = {4: [], 5: [], 9: [], 10: [exceeded("100%")], 16: []}
    expect(promtool_binary, rules, quota("20x3 10 20x9 10x9"), EXCEEDED, firing)


def test_fuller_of_two_quotas_counts(promtool_binary: Path, rules: Path) -> None:
    series = quota("19x30") | quota("19x30", hard="100x30", name="roomy")
    expect(promtool_binary, rules, series, EXCEEDED, {6: [exceeded("95%")]})


def test_quota_of_zero_never_fires(promtool_binary: Path, rules: Path) -> None:
    expect(promtool_binary, rules, quota("0x30", hard="0x30"), EXCEEDED, {6: [], 30: []})


def test_tenants_that_stay_failed_fire(promtool_binary: Path, rules: Path) -> None:
    series = {'tenancy_tenants{phase="Failed"}': "0 2x30", 'tenancy_tenants{phase="Active"}': "5x30"}
    expect(promtool_binary, rules, series, "TenantsFailed", {10: [], 11: [({}, "2 tenants have failed")]})


def test_watcher_that_is_gone_fires_and_one_that_is_there_does_not(
    promtool_binary: Path, rules: Path
) -> None:
    alert = "TenancyWatcherAbsent"
    absent: Firing = ({}, "the tenancy watcher serves no metrics")
    expect(promtool_binary, rules, {"tenancy_queue_depth": "0x30"}, alert, {10: [], 30: []})
    expect(promtool_binary, rules, {"unrelated": "0x30"}, alert, {4: [], 5: [absent]})


def test_invalid_plans_fire(promtool_binary: Path, rules: Path) -> None:
    firing: dict[int, list[Firing]] = {2: [], 3: [({}, "the plans are invalid")], 5: []}
    expect(promtool_binary, rules, {"tenancy_plans_valid": "1 1 0 0 1x9"}, "TenancyPlansInvalid", firing)


def test_usage_that_is_not_recorded_fires(promtool_binary: Path, rules: Path) -> None:
    firing: dict[int, list[Firing]] = {11: [], 12: [({}, "the usage of tenants is not recorded")], 21: []}
    expect(
        promtool_binary, rules, {"tenancy_usage_recorded": "1 1 0x18 1"}, "TenancyUsageNotRecorded", firing
    )


def test_repeated_reconcile_failures_fire(promtool_binary: Path, rules: Path) -> None:
    alert, failed = "TenancyReconcilesFailing", 'tenancy_reconciles_total{result="failed"}'
    firing: Firing = ({}, "15 reconciles have failed within 15 minutes")
    expect(promtool_binary, rules, {failed: "0+1x60"}, alert, {15: [], 40: [firing]})
    expect(promtool_binary, rules, {failed: "0 5x60"}, alert, {15: [], 60: []})


def test_queue_without_reconciles_fires(promtool_binary: Path, rules: Path) -> None:
    alert, reconciles = "TenancyQueueStuck", 'tenancy_reconciles_total{result="applied"}'
    stuck: Firing = ({}, "3 tenants are queued, and none is reconciled")
    series = {"tenancy_queue_depth": "3x40", reconciles: "7x40"}
    expect(promtool_binary, rules, series, alert, {14: [], 16: [stuck]})
    expect(promtool_binary, rules, {**series, reconciles: "0+1x40"}, alert, {16: [], 40: []})
