"""The comment that a pull request gets, word by word, for each thing that can happen to a tenant.

`TENANCY_GOLDEN=1` writes the golden files anew: read the difference before you keep it.
"""

from tests.cli.previews import Previews, offline_fixture, previews_fixture  # noqa: F401 - fixtures
from tests.integrations.pods import POD, allow_pods, pod
from tests.platform import NewTenant, Platform
from tests.waiting import eventually

_TWO = [{"name": "dev"}, {"name": "prod", "purpose": "production"}]
_HOSTILE = "</details> | `x` ``` @octocat <!-- #1 ![x](http://evil.test) **b** \\| \u202e"


def test_a_new_tenant(previews: Previews) -> None:
    previews.write("golden-new", adminUsers=["alice"])
    previews.expect_golden("new", exit_code=2)


def test_no_change(platform: Platform, new_tenant: NewTenant, previews: Previews) -> None:
    platform.await_active(new_tenant("golden-same", displayName="The Same"))
    previews.write("golden-same", displayName="The Same")
    previews.expect_golden("unchanged", exit_code=0)


def test_another_plan(platform: Platform, new_tenant: NewTenant, previews: Previews) -> None:
    platform.await_active(new_tenant("golden-plan", plan="basic"))
    previews.write("golden-plan", plan="pro")
    previews.expect_golden("plan", exit_code=2)


def test_a_namespace_less(platform: Platform, new_tenant: NewTenant, previews: Previews) -> None:
    platform.await_active(new_tenant("golden-less", namespaces=_TWO))
    previews.write("golden-less", namespaces=_TWO[:1])
    previews.expect_golden("namespace-removed", exit_code=2)


def test_a_quota_below_what_is_used(platform: Platform, new_tenant: NewTenant, previews: Previews) -> None:
    platform.await_active(new_tenant("golden-quota"))
    home = "tenant-golden-quota"
    allow_pods(platform.admin, home)
    for _ in range(6):
        platform.admin.create(POD, pod(home))

    def is_filled() -> bool:
        quota = platform.get("ResourceQuota", home, "tenant-quota") or {}
        used: str = quota.get("status", {}).get("used", {}).get("cpu", "")
        return used == "150m"

    eventually(is_filled, "six pods of 25m each are counted")
    previews.write("golden-quota", resourceQuotas={"cpu": "100m"})
    previews.expect_golden("quota-below-use", exit_code=2)


def test_wider_access(platform: Platform, new_tenant: NewTenant, previews: Previews) -> None:
    viewer = {"kind": "User", "name": "eve", "role": "viewer"}
    platform.await_active(new_tenant("golden-access", access=[viewer]))
    previews.write(
        "golden-access",
        access=[{**viewer, "role": "operator"}, {"kind": "Group", "name": "oncall", "role": "viewer"}],
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


def test_manifests_with_errors(platform: Platform, new_tenant: NewTenant, previews: Previews) -> None:
    platform.await_active(new_tenant("golden-sound"))
    previews.write("golden-sound")
    previews.write("golden-misspelt", displayname="lower case")
    previews.write("golden-nowhere", plan="none-such")
    previews.write("golden-thief", adopt=True, namespaces=[{"name": "x", "existing": "tenant-golden-sound"}])
    previews.write("golden-nobodys")
    previews.write("broken", "kind: [Tenant\n")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant-golden-nobodys"}}
    platform.apply(namespace)
    previews.expect_golden("errors", exit_code=1)
    platform.remove("Namespace", "", "tenant-golden-nobodys")


def test_a_hostile_display_name_stays_in_its_place(
    platform: Platform, new_tenant: NewTenant, previews: Previews
) -> None:
    platform.await_active(new_tenant("golden-hostile", displayName="Harmless"))
    previews.write("golden-hostile", displayName=_HOSTILE)
    told = previews.expect_golden("hostile", exit_code=2)
    assert told.count("</details>") == 2, "one ends the details, one stands in the fence"
    outside = told.partition("````diff")[0]
    for dangerous in ("@o", "<!-- #", "`x`", "![", "**b", "http://", "\u202e"):
        assert dangerous not in outside
    assert "\u202e" not in told
