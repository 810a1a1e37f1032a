"""The plans change while the watcher is running.

Valid plans take effect, and invalid plans change nothing.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cluster.plans_in_force import plans_in_force
from tenancy.base.errors import PlansError
from tenancy.base.kinds import CONFIG_MAP
from tenancy.plans import SHIPPED_PLANS, plans_from_text, read_plans
from tests.own_cluster import platform_on_own_cluster
from tests.platform import NewTenant, Platform
from tests.waiting import eventually
from tests.watcher.changed_plans import (
    INVALID,
    PLANS_CONFIG_MAP,
    apply_config_map,
    await_in_force,
    await_no_note,
    await_note,
    await_update,
    event_count,
    plans_with,
    plans_without,
    uids,
    unchanged_tenants,
    updates,
    write_plans,
)


@pytest.fixture(scope="module")
def platform(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform in a separate cluster, because a change of the plans affects all tenants."""
    with platform_on_own_cluster(tools, tmp_path_factory, "plans") as platform:
        yield platform


def test_changed_plan_updates_exactly_its_tenants(
    platform: Platform, plans_file: Path, new_tenant: NewTenant
) -> None:
    pro = [new_tenant(f"pro-{letter}", plan="pro") for letter in "ab"]
    basic = [new_tenant(f"basic-{letter}", plan="basic") for letter in "ab"]
    for manifest in (*pro, *basic):
        platform.await_active(manifest)
    write_plans(platform, plans_file, plans_with(pro={"podSecurity": "baseline"}))
    for manifest in pro:
        await_update(platform, manifest, "plan pro changed")
    labels = (platform.namespace("tenant-pro-a") or {})["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "baseline"
    eventually(
        lambda: unchanged_tenants(platform) >= {"basic-a", "basic-b"},
        "the watcher has reconciled the other tenants",
    )
    assert updates(platform, *pro, *basic) == {
        **dict.fromkeys(("pro-a", "pro-b"), (2, "plan pro changed")),
        **dict.fromkeys(("basic-a", "basic-b"), (1, "spec generation 1")),
    }
    causes = [update["message"] for update in platform.history("pro-b")]
    assert causes == ["plan pro changed", "spec generation 1"]
    platform.expect_no_changes("pro-a")


def test_invalid_file_is_rejected_and_reported_until_it_is_fixed(
    platform: Platform, plans_file: Path, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("keeps", plan="basic")
    platform.await_active(manifest)
    plans_file.write_text(INVALID)
    await_note(platform, "plans.pro.maxNamespaces")
    field = "plans.pro.maxNamespaces"
    eventually(
        lambda: event_count(platform, "tenancy-system", "PlansRefused", field), "an event names the field"
    )
    accepted = event_count(platform, "tenancy-system", "PlansAccepted", str(plans_file))

    platform.apply({**manifest, "spec": {"plan": "pro"}})
    platform.await_active(manifest)
    quota = platform.objects("keeps")["ResourceQuota", "tenant-keeps", "tenant-quota"]
    assert quota["spec"]["hard"]["cpu"] == "4"
    assert updates(platform, manifest) == {"keeps": (2, "spec generation 2")}

    write_plans(platform, plans_file, plans_with(pro={"podSecurity": "baseline"}))
    await_update(platform, manifest, "plan pro changed")
    await_no_note(platform)
    eventually(
        lambda: event_count(platform, "tenancy-system", "PlansAccepted", str(plans_file)) > accepted,
        "an event reports that the plans are accepted",
    )


@pytest.mark.parametrize("content", [b"", b"plans: {p: 2001-99-99}", b"\xff\xfe", b"[" * 2000])
def test_watcher_survives_any_file_content(platform: Platform, plans_file: Path, content: bytes) -> None:
    plans_file.write_bytes(content)
    await_note(platform, "the newest plans are rejected: ")
    assert platform.http_get("/healthz") == (200, "ok\n")
    shutil.copy(SHIPPED_PLANS, plans_file)
    await_no_note(platform)


def test_file_can_be_deleted_and_created_again(platform: Platform, plans_file: Path) -> None:
    plans_file.unlink()
    await_note(platform, "is missing")
    shutil.copy(SHIPPED_PLANS, plans_file)
    await_no_note(platform)


def test_file_can_be_replaced_in_any_way(platform: Platform, plans_file: Path, tmp_path: Path) -> None:
    rejections = sum(1 for line in platform.log() if line["message"] == "plans refused")
    texts = [plans_with(pro={"podSecurity": level}) for level in ("restricted", "baseline", "privileged")]
    texts = [f"{text}# {uuid4()}\n" for text in texts]
    # Use symlinks like Kubernetes for a mounted ConfigMap. The path of the file contains another symlink,
    # which is replaced.
    inner, folders = tmp_path / "..data", [tmp_path / f"version-{number}" for number in range(2)]
    for folder, text in zip(folders, texts, strict=False):
        folder.mkdir()
        (folder / "plans.yaml").write_text(text)
    inner.symlink_to(folders[0])
    (tmp_path / "link").symlink_to(inner / "plans.yaml")
    os.replace(tmp_path / "link", plans_file)
    await_in_force(platform, texts[0])
    (tmp_path / "..new").symlink_to(folders[1])
    os.replace(tmp_path / "..new", inner)
    shutil.rmtree(folders[0])
    await_in_force(platform, texts[1])

    # Replace the file like an editor: delete the old file, and then rename the new file.
    (tmp_path / "plans.new").write_text(texts[2])
    plans_file.unlink()
    os.replace(tmp_path / "plans.new", plans_file)
    await_in_force(platform, texts[2])
    assert rejections == sum(1 for line in platform.log() if line["message"] == "plans refused")


def test_tenants_of_a_removed_plan_keep_their_objects_until_it_is_added_again(
    platform: Platform, plans_file: Path, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("orphan", plan="pro")
    platform.await_active(manifest)
    before = uids(platform, "orphan")
    write_plans(platform, plans_file, plans_without("pro"))
    ready = platform.await_condition(manifest, "UnknownPlan")
    assert ready["message"] == "spec.plan: there is no plan 'pro'; known: basic, enterprise"
    assert (platform.tenant(manifest) or {})["status"]["phase"] == "Failed"
    assert uids(platform, "orphan") == before

    write_plans(platform, plans_file, SHIPPED_PLANS.read_text())
    platform.await_active(manifest)
    assert uids(platform, "orphan") == before
    assert updates(platform, manifest) == {"orphan": (1, "spec generation 1")}


def test_overridden_settings_survive_a_change_of_the_plan(
    platform: Platform, plans_file: Path, new_tenant: NewTenant
) -> None:
    manifest = new_tenant(
        "special",
        plan="basic",
        podSecurity="baseline",
        registries=["registry.example.com"],
        limits={"default": {"cpu": "200m"}},
        quotas=[{"name": "tenant-quota-storage", "hard": {"requests.storage": "7Gi"}}],
    )
    platform.await_active(manifest)

    def settings() -> dict[str, Any]:
        objects, namespace = platform.objects("special"), "tenant-special"
        metadata = objects["Namespace", "", namespace]["metadata"]
        return {
            "level": metadata["labels"]["pod-security.kubernetes.io/enforce"],
            "registries": metadata["annotations"]["policy.platform.ai/registries"],
            "types": metadata["annotations"]["policy.platform.ai/service-types"],
            "limits": objects["LimitRange", namespace, "tenant-limits"]["spec"]["limits"][0]["default"],
            "storage": objects["ResourceQuota", namespace, "tenant-quota-storage"]["spec"]["hard"],
            "cpu": objects["ResourceQuota", namespace, "tenant-quota"]["spec"]["hard"]["cpu"],
        }

    overrides = {
        "level": "baseline",
        "registries": "registry.example.com",
        "limits": {"cpu": "200m"},
        "storage": {"requests.storage": "7Gi"},
    }
    assert settings() == overrides | {"types": "ClusterIP", "cpu": "500m"}
    quotas = [
        {"name": "tenant-quota", "hard": {"cpu": "700m"}},
        {"name": "tenant-quota-storage", "hard": {"requests.storage": "6Gi"}},
    ]
    changed = {"serviceTypes": ["ClusterIP", "ExternalName"], "registries": ["elsewhere.example.com"]}
    changed_plans = plans_with(basic={**changed, "quotas": quotas, "podSecurity": "privileged"})
    write_plans(platform, plans_file, changed_plans)
    await_update(platform, manifest, "plan basic changed")
    assert settings() == overrides | {"types": "ClusterIP,ExternalName", "cpu": "700m"}


@pytest.mark.usefixtures("config_map")
def test_watcher_waits_for_its_config_map_and_follows_it(platform: Platform, new_tenant: NewTenant) -> None:
    missing = "no plans yet: ConfigMap tenancy-system/tenancy-plans: is missing, or has no key plans.yaml\n"
    manifest = new_tenant("awaits", plan="basic")
    eventually(lambda: platform.http_get("/readyz") == (503, missing), "only the plans are missing")
    assert platform.metrics("tenancy_plans_valid") == {(): 0}
    assert plans_in_force(platform.admin) == read_plans()

    apply_config_map(platform, INVALID)
    eventually(
        lambda: "plans.pro.maxNamespaces" in platform.http_get("/readyz")[1], "/readyz names the field"
    )
    assert platform.http_get("/readyz")[0] == 503
    assert "status" not in (platform.tenant(manifest) or {})
    with pytest.raises(PlansError):
        plans_in_force(platform.admin)

    apply_config_map(platform, SHIPPED_PLANS.read_text())
    await_no_note(platform)
    platform.await_active(manifest)
    apply_config_map(platform, changed := plans_with(basic={"podSecurity": "baseline"}))
    await_update(platform, manifest, "plan basic changed")
    assert plans_in_force(platform.admin) == plans_from_text(changed)


@pytest.mark.usefixtures("config_map")
def test_invalid_or_deleted_config_map_leaves_the_plans_in_force(
    platform: Platform, new_tenant: NewTenant
) -> None:
    apply_config_map(platform, SHIPPED_PLANS.read_text())
    await_no_note(platform)
    apply_config_map(platform, INVALID)
    await_note(platform, "plans.pro.maxNamespaces")
    field = "plans.pro.maxNamespaces"
    eventually(
        lambda: event_count(platform, PLANS_CONFIG_MAP[1], "PlansRefused", field), "an event names the field"
    )
    platform.await_active(new_tenant("works", plan="pro"))
    apply_config_map(platform, SHIPPED_PLANS.read_text(), key="other.yaml")
    platform.admin.patch(
        CONFIG_MAP, PLANS_CONFIG_MAP[1], {"data": {"plans.yaml": None}}, namespace=PLANS_CONFIG_MAP[0]
    )
    await_note(platform, "has no key plans.yaml")
    apply_config_map(platform, SHIPPED_PLANS.read_text())
    await_no_note(platform)
    platform.admin.delete(CONFIG_MAP, PLANS_CONFIG_MAP[1], PLANS_CONFIG_MAP[0])
    await_note(platform, "is missing")
