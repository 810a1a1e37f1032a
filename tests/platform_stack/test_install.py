"""`pulumi up --stack platform` on an empty cluster installs everything, and only once."""

from tenancy.plans import SHIPPED_PLANS
from tenancy.platform.manifests import platform_manifests
from tenancy.platform.settings import PlatformSettings
from tests.platform import Platform, tenant_manifest
from tests.platform_stack.conftest import IMAGE, live

SETTINGS = PlatformSettings(image=IMAGE, plans=SHIPPED_PLANS.read_text(encoding="utf-8"))


def test_up_installs_every_object(installed: Platform) -> None:
    absent = [
        manifest["metadata"] for manifest in platform_manifests(SETTINGS) if not live(installed, manifest)
    ]
    assert absent == []


def test_second_up_has_nothing_to_change(installed: Platform) -> None:
    told = installed.pulumi("platform", "preview", "--expect-no-changes", f"--config=image={IMAGE}")
    assert told.returncode == 0, told.stdout + told.stderr
    assert f"{len(platform_manifests(SETTINGS)) + 2} unchanged" in told.stdout


def test_watcher_builds_a_tenant_with_the_rights_that_were_installed(installed: Platform) -> None:
    manifest = tenant_manifest("first", plan="basic")
    installed.apply(manifest)
    installed.await_active(manifest)
    installed.delete(manifest)
    installed.await_gone(manifest)
