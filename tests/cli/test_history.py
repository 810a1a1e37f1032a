"""`tenancy history` shows the updates of a tenant with their causes, authors and changes."""

import copy
import json
from datetime import datetime

from tenancy.base.kinds import Kind
from tenancy.base.platform_names import WATCHER
from tests.cli.conftest import Run
from tests.platform import NewTenant, Platform

CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", is_namespaced=False)


def test_history_tells_each_update_and_its_cause(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    manifest = new_tenant("storied")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)
    # Without a message, Pulumi would use the subject of the newest git commit.
    result = platform.pulumi("tenant-storied", "up", "--yes", "--skip-preview", "--message", "a try")
    assert result.returncode == 0, result.stdout
    platform.remove("Role", "tenant-storied", "tenant-viewer")
    platform.await_condition(manifest, "Repaired", "Drifted")

    result = tenancy("history", "storied")
    assert result.returncode == 0, result.stderr
    header, *lines = (line.split("   ") for line in result.stdout.splitlines())
    assert [cell.strip() for cell in header if cell.strip()] == [
        *("UPDATE", "WHEN", "CAUSE", "BY", "RESULT", "CHANGES")
    ]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    unknown = "unknown, via manager tenancy-cli"
    assert [(line[0], *line[2:5]) for line in cells] == [
        ("4", "drift: Role tenant-storied/tenant-viewer deleted", "-", "succeeded"),
        ("3", "a try", "by hand", "succeeded"),
        ("2", "spec generation 2", unknown, "succeeded"),
        ("1", "spec generation 1", unknown, "succeeded"),
    ]
    assert cells[3][5].startswith("+")
    assert cells[2][5].startswith("~")
    assert cells[1][5] == "none"
    for line in cells:
        assert datetime.fromisoformat(line[1]).tzinfo is not None

    updates = json.loads(tenancy("history", "storied", "--limit", "3", "-o", "json").stdout)
    assert [update["version"] for update in updates] == [4, 3, 2]
    assert updates[2]["spec"]["plan"] == "pro"
    assert updates[1]["spec"] is None

    changed = tenancy("history", "storied", "--diff").stdout
    assert "update 2  succeeded\n" in changed
    assert "    spec.hard.cpu\n      - 500m\n      + 4\n" in changed
    assert "the changes of this update were not recorded" in changed
    assert "  cause    a try\n  by       by hand\n" in changed


def test_failed_update_is_marked(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    role = platform.admin.get(CLUSTER_ROLE, WATCHER)
    assert role is not None
    reduced_rules = copy.deepcopy(role["rules"])
    for rule in reduced_rules:
        if "networkpolicies" in rule["resources"]:
            rule["verbs"] = ["get", "list", "watch"]
    platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": reduced_rules})
    try:
        manifest = new_tenant("marked")
        platform.await_condition(manifest, "AccessDenied")
    finally:
        platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": role["rules"]})
    platform.await_active(manifest)
    result = tenancy("history", "marked", FORCE_COLOR="1", TERM="xterm", COLUMNS="300")
    first, newest = result.stdout.splitlines()[-1], result.stdout.splitlines()[1]
    assert "\x1b[1;31mfailed" in first
    assert "succeeded" in newest
    assert "\x1b[1;31m" not in newest


def test_tenant_without_a_stack_has_only_changes_of_its_spec(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    platform.await_condition(new_tenant("storyless", paused=True), "Paused")
    result = tenancy("history", "storyless")
    assert result.returncode == 0, result.stderr
    (line,) = result.stdout.splitlines()[1:]
    assert line.startswith("-  ")
    assert "spec generation 1" in line
    (entry,) = json.loads(tenancy("history", "storyless", "-o", "json").stdout)
    assert (entry["version"], entry["result"]) == (None, "paused")


def test_history_of_no_tenant_and_without_a_backend_say_what_to_do(tenancy: Run) -> None:
    result = tenancy("history", "nobody")
    assert result.returncode == 1
    assert "there is no tenant 'nobody'" in result.stderr
    result = tenancy("history", "nobody", PULUMI_BACKEND_URL="")
    assert result.returncode == 1
    assert "set PULUMI_BACKEND_URL" in result.stderr
