"""The Markdown output of previews equals the golden files.

`TENANCY_GOLDEN=1` overwrites the golden files. Review the difference before you commit it.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.previews import Previews, offline_fixture, previews_fixture  # noqa: F401 - fixtures
from tests.integrations.pods import POD, allow_pods, pod
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants
from tests.waiting import eventually

_TWO = [{"name": "dev"}, {"name": "prod", "purpose": "production"}]
_VIEWER = {"kind": "User", "name": "eve", "role": "viewer"}
# The spec of a live tenant. The tests write manifests in which parts of this spec are changed.
_TEAM: dict[str, Any] = {"displayName": "The Team", "access": [_VIEWER]}
_HOSTILE = "</details> | `x` ``` @octocat <!-- #1 ![x](http://evil.test) **b** \\| \u202e"


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    with shared_tenants(
        running_platform,
        tenant_manifest("golden-team", **_TEAM),
        tenant_manifest("golden-less", namespaces=_TWO),
        tenant_manifest("golden-quota"),
    ):
        yield


def test_a_new_tenant(previews: Previews) -> None:
    previews.write("golden-new", adminUsers=["alice"])
    previews.expect_golden("new", exit_code=2)


def test_no_change(previews: Previews) -> None:
    previews.write("golden-team", **_TEAM)
    previews.expect_golden("unchanged", exit_code=0)


def test_another_plan(previews: Previews) -> None:
    previews.write("golden-team", **_TEAM, plan="pro")
    previews.expect_golden("plan", exit_code=2)


def test_a_namespace_less(previews: Previews) -> None:
    previews.write("golden-less", namespaces=_TWO[:1])
    previews.expect_golden("namespace-removed", exit_code=2)


def test_a_quota_below_what_is_used(platform: Platform, previews: Previews) -> None:
    namespace = "tenant-golden-quota"
    allow_pods(platform.admin, namespace)
    for _ in range(6):
        platform.admin.create(POD, pod(namespace))

    def is_filled() -> bool:
        quota = platform.get("ResourceQuota", namespace, "tenant-quota") or {}
        used: str = quota.get("status", {}).get("used", {}).get("cpu", "")
        return used == "150m"

    eventually(is_filled, "six pods of 25m each are counted")
    previews.write("golden-quota", resourceQuotas={"cpu": "100m"})
    previews.expect_golden("quota-below-use", exit_code=2)


def test_wider_access(previews: Previews) -> None:
    wider = [{**_VIEWER, "role": "operator"}, {"kind": "Group", "name": "oncall", "role": "viewer"}]
    previews.write(
        "golden-team",
        **{**_TEAM, "access": wider},
        network={"egress": [{"cidr": "203.0.113.0/24"}]},
        podSecurity="baseline",
    )
    previews.expect_golden("access-widened", exit_code=2)


def test_a_deleted_tenant_and_a_protected_one(offline_previews: Previews) -> None:
    offline_previews.write("golden-stays")
    files = [
        offline_previews.write("golden-gone", namespaces=_TWO),
        offline_previews.write("golden-kept", deletionPolicy="Retain"),
        offline_previews.write("golden-safe", protected=True),
    ]
    offline_previews.commit()
    for file in files:
        file.unlink()
    offline_previews.expect_golden("deleted", "tenants", "--against", "HEAD", exit_code=1)


def test_manifests_with_errors(platform: Platform, previews: Previews) -> None:
    previews.write("golden-team", **_TEAM)
    previews.write("golden-misspelt", displayname="lower case")
    previews.write("golden-nowhere", plan="none-such")
    previews.write("golden-thief", adopt=True, namespaces=[{"name": "x", "existing": "tenant-golden-team"}])
    previews.write("golden-nobodys")
    previews.write("broken", "kind: [Tenant\n")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant-golden-nobodys"}}
    platform.apply(namespace)
    try:
        previews.expect_golden("errors", exit_code=1)
    finally:
        platform.remove("Namespace", "", "tenant-golden-nobodys")


def test_a_hostile_display_name_stays_in_its_place(previews: Previews) -> None:
    previews.write("golden-team", **{**_TEAM, "displayName": _HOSTILE})
    comment = previews.expect_golden("hostile", exit_code=2)
    assert comment.count("</details>") == 2, "one ends the details, one is in the code fence"
    outside = comment.partition("````diff")[0]
    for dangerous in ("@o", "<!-- #", "`x`", "![", "**b", "http://", "\u202e"):
        assert dangerous not in outside
    assert "\u202e" not in comment
