"""`tenancy diff`: what is live against what should be."""

import json
from pathlib import Path

import yaml

from tenancy.plans import SHIPPED_PLANS
from tests.cli.conftest import Run
from tests.platform import NewTenant, Platform


def test_diff_of_a_tenant_that_is_well_is_empty(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    platform.await_active(new_tenant("even"))
    told = tenancy("diff", "even")
    assert (told.returncode, told.stdout) == (0, "even is as it should be.\n"), told.stderr


def test_diff_of_a_paused_tenant_tells_each_field(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    manifest = new_tenant("uneven")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"paused": True}})
    platform.await_condition(manifest, "Paused")
    platform.patch("ResourceQuota", "tenant-uneven", "tenant-quota", {"spec": {"hard": {"cpu": "77"}}})
    platform.remove("Role", "tenant-uneven", "tenant-viewer")
    told = tenancy("diff", "uneven")
    assert told.returncode == 2, told.stderr
    assert told.stdout.splitlines() == [
        "+ Role tenant-uneven/tenant-viewer",
        "~ ResourceQuota tenant-uneven/tenant-quota",
        "    spec.hard.cpu",
        "      - 77",
        "      + 500m",
    ]
    told = tenancy("diff", "uneven", "-o", "json")
    assert told.returncode == 2, told.stderr
    created, updated = json.loads(told.stdout)
    assert (created["operation"], created["name"]) == ("create", "tenant-viewer")
    assert updated["fields"] == [{"path": "spec.hard.cpu", "before": "77", "after": "500m"}]


def test_what_a_terminal_would_obey_is_shown_instead(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    manifest = new_tenant("obeyed", adminUsers=["alice"])
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"paused": True, "adminUsers": ["alice"]}})
    platform.await_condition(manifest, "Paused")
    subject = {"kind": "User", "name": "eve\x1b]0;gone\x07\x9b2J", "apiGroup": "rbac.authorization.k8s.io"}
    platform.patch("RoleBinding", "tenant-obeyed", "tenant-admin", {"subjects": [subject]})
    told = tenancy("diff", "obeyed", FORCE_COLOR="1")
    assert told.returncode == 2, told.stderr
    assert "eve\\u001b]0;gone\\u009b2J" in told.stdout
    assert not any(order in told.stdout for order in ("\x1b]", "\x07", "\x9b"))


def test_diff_goes_by_the_plans_file_that_is_given(
    platform: Platform, new_tenant: NewTenant, tenancy: Run, tmp_path: Path
) -> None:
    platform.await_active(new_tenant("otherplans"))
    plans = yaml.safe_load(SHIPPED_PLANS.read_text())
    plans["plans"]["basic"]["quotas"][0]["hard"]["cpu"] = "3"
    path = tmp_path / "plans.yaml"
    path.write_text(yaml.safe_dump(plans))
    told = tenancy("diff", "otherplans", "--plans", str(path))
    assert told.returncode == 2, told.stderr
    assert "      + 3" in told.stdout.splitlines()


def test_diff_of_an_invalid_spec_names_the_field(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    platform.await_condition(new_tenant("nodiff", plan="none-such"), "UnknownPlan")
    told = tenancy("diff", "nodiff")
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith("error: spec.plan: there is no plan 'none-such'")


def test_diff_of_no_tenant_says_how_to_find_one(tenancy: Run) -> None:
    told = tenancy("diff", "nobody")
    assert told.returncode == 1
    assert told.stderr == "error: there is no tenant 'nobody'; `tenancy list` shows those there are\n"
