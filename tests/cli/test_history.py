"""`tenancy history`: what has been done to a tenant, by whom and why."""

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
    # Unless it is given one, Pulumi takes the newest commit's subject for the message.
    told = platform.pulumi("tenant-storied", "up", "--yes", "--skip-preview", "--message", "a try")
    assert told.returncode == 0, told.stdout
    platform.remove("Role", "tenant-storied", "tenant-viewer")
    platform.await_condition(manifest, "Repaired", "Drifted")

    told = tenancy("history", "storied")
    assert told.returncode == 0, told.stderr
    header, *lines = (line.split("   ") for line in told.stdout.splitlines())
    assert [cell.strip() for cell in header if cell.strip()] == [
        *("UPDATE", "WHEN", "OPERATION", "CAUSE", "BY", "RESULT", "CHANGES", "DURATION")
    ]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert [(line[0], *line[2:6]) for line in cells] == [
        ("4", "up", "drift: Role tenant-storied/tenant-viewer deleted", "-", "succeeded"),
        ("3", "up", "a try", "by hand", "succeeded"),
        ("2", "up", "spec generation 2", "tenancy", "succeeded"),
        ("1", "up", "spec generation 1", "tenancy", "succeeded"),
    ]
    assert cells[3][6].startswith("+")
    assert cells[2][6].startswith("~")
    assert cells[1][6] == "none"
    for line in cells:
        assert datetime.fromisoformat(line[1]).tzinfo is not None

    updates = json.loads(tenancy("history", "storied", "--limit", "3", "-o", "json").stdout)
    assert [update["version"] for update in updates] == [4, 3, 2]
    assert updates[2]["spec"]["plan"] == "pro"
    assert updates[1]["spec"] is None

    changed = tenancy("history", "storied", "--diff").stdout
    assert "update 2  " in changed
    assert "    spec.hard.cpu\n      - 500m\n      + 4\n" in changed
    assert "the changes of this update were not recorded" in changed
    assert (
        " ago  up  a try  by hand"
        in tenancy("history", "storied", "--diff", FORCE_COLOR="1", TERM="dumb").stdout
    )


def test_failed_update_is_marked(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    role = platform.admin.get(CLUSTER_ROLE, WATCHER)
    assert role is not None
    less = copy.deepcopy(role["rules"])
    for rule in less:
        if "networkpolicies" in rule["resources"]:
            rule["verbs"] = ["get", "list", "watch"]
    platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": less})
    try:
        manifest = new_tenant("marked")
        platform.await_condition(manifest, "AccessDenied")
    finally:
        platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": role["rules"]})
    platform.await_active(manifest)
    told = tenancy("history", "marked", FORCE_COLOR="1", TERM="xterm", COLUMNS="300")
    first, newest = told.stdout.splitlines()[-1], told.stdout.splitlines()[1]
    assert "\x1b[1;31mfailed" in first
    assert "succeeded" in newest
    assert "\x1b[1;31m" not in newest


def test_no_stack_yet_is_no_error(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    platform.await_condition(new_tenant("storyless", paused=True), "Paused")
    told = tenancy("history", "storyless")
    assert (told.returncode, told.stdout) == (0, "storyless has no updates yet.\n"), told.stderr
    assert json.loads(tenancy("history", "storyless", "-o", "json").stdout) == []


def test_history_of_no_tenant_and_without_a_backend_say_what_to_do(tenancy: Run) -> None:
    told = tenancy("history", "nobody")
    assert told.returncode == 1
    assert "there is no tenant 'nobody'" in told.stderr
    told = tenancy("history", "nobody", PULUMI_BACKEND_URL="")
    assert told.returncode == 1
    assert "set PULUMI_BACKEND_URL" in told.stderr
