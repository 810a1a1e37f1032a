"""The watcher creates the extra objects of plans and tenants in each namespace, and repairs them.

When an entry is removed from the plan or the spec, the watcher deletes its objects.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenancy.base.manifest import Manifest
from tenancy.plans import SHIPPED_PLANS
from tests.platform import Platform, condition, tenant_manifest
from tests.waiting import eventually
from tests.watcher.extra_objects import OF_PLAN, OF_TENANT

NAMESPACE = "tenant-extras-a"
NAMESPACES = (NAMESPACE, "tenant-extras-b")
EXPECTED = {
    ("ConfigMap", "extras-facts"),
    ("ServiceAccount", "runner"),
    *((manifest["kind"], manifest["metadata"]["name"]) for manifest in OF_TENANT),
}

# Each value is the kind and name of an object, the patch, a function that returns the changed part of the
# object, and the path of this part in the status.
EDITS: dict[str, tuple[str, str, Manifest, Callable[[Manifest], Any], str]] = {
    "a key": ("ConfigMap", "extras-facts", {"data": {"where": "x"}}, lambda live: live["data"], "data.where"),
    "one more key": (
        *("ConfigMap", "extras-facts", {"data": {"more": "x"}}),
        lambda live: live["data"],
        "data.more",
    ),
    "a binary key": (
        *("ConfigMap", "extras-facts", {"binaryData": {"more": "eA=="}}),
        lambda live: live.get("binaryData"),
        "binaryData.more",
    ),
    "a mounted token": (
        *("ServiceAccount", "runner", {"automountServiceAccountToken": True}),
        lambda live: live["automountServiceAccountToken"],
        "automountServiceAccountToken",
    ),
    "a service's selector": (
        *("Service", "web", {"spec": {"selector": {"app": "other"}}}),
        lambda live: live["spec"]["selector"],
        "spec.selector.app",
    ),
    "a service's port": (
        *("Service", "web", {"spec": {"ports": [{"port": 81, "protocol": "TCP"}]}}),
        lambda live: live["spec"]["ports"],
        "spec.ports[0].port",
    ),
    "a budget": (
        *("PodDisruptionBudget", "web", {"spec": {"minAvailable": 0}}),
        lambda live: live["spec"],
        "spec.minAvailable",
    ),
    "a quota": (
        *("ResourceQuota", "jobs", {"spec": {"hard": {"count/jobs.batch": "50"}}}),
        lambda live: live["spec"],
        "spec.hard.count/jobs.batch",
    ),
    "a policy's rule": (
        *("NetworkPolicy", "to-database", {"spec": {"egress": [{}]}}),
        lambda live: live["spec"],
        "spec.egress[0].to",
    ),
    "a rule that the policy does not have": (
        *("NetworkPolicy", "to-database", {"spec": {"ingress": [{}]}}),
        lambda live: live["spec"],
        "spec.ingress",
    ),
}


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    document = yaml.safe_load(SHIPPED_PLANS.read_text(encoding="utf-8"))
    document["plans"]["extra"] = {**document["plans"]["pro"], "extraResources": OF_PLAN}
    file = tmp_path_factory.mktemp("plans") / "plans.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def extras(running_platform: Platform, plans: Path) -> Iterator[Manifest]:
    """A tenant that all tests of this module share. The watcher uses a plans file with the tenant's plan."""
    running_platform.stop()
    running_platform.start("--plans", str(plans))
    manifest = tenant_manifest(
        "extras",
        plan="extra",
        namespaces=[{"name": "a", "purpose": "staging"}, {"name": "b"}],
        extraResources=OF_TENANT,
    )
    running_platform.apply(manifest)
    running_platform.await_active(manifest)
    yield manifest
    running_platform.verify_and_abandon([manifest])
    running_platform.stop()
    running_platform.start()


@contextmanager
def paused(platform: Platform, tenant: Manifest) -> Iterator[None]:
    """Pause the tenant. On exit, resume it, and wait until it is Active."""
    platform.apply({**tenant, "spec": {**tenant["spec"], "paused": True}})
    platform.await_condition(tenant, "Paused")
    yield
    platform.apply(tenant)
    platform.await_active(tenant)


def await_drift(platform: Platform, tenant: Manifest, reason: str, changes: list[str]) -> None:
    """Wait until the condition Drifted has the reason, and its message contains all these changes."""

    def is_reported() -> bool:
        drifted = condition(platform.tenant(tenant) or {}, "Drifted")
        return drifted.get("reason") == reason and all(text in drifted["message"] for text in changes)

    eventually(is_reported, f"the status reports {changes}; tenant is {platform.tenant(tenant)}")


def expect_no_drift(platform: Platform, plans: Path) -> None:
    """Check that a preview with `--refresh` shows no changes."""
    preview = platform.pulumi(
        "tenant-extras",
        *("preview", "--refresh", "--expect-no-changes", "--config", f"tenancy:plans={plans}"),
    )
    assert preview.returncode == 0, preview.stdout + preview.stderr


@pytest.mark.usefixtures("extras")
def test_objects_of_plan_and_tenant_exist_in_each_namespace(platform: Platform) -> None:
    objects = platform.objects("extras")
    for expected_namespace in ("tenant-extras-a", "tenant-extras-b"):
        names = {(kind, name) for kind, namespace, name in objects if namespace == expected_namespace}
        assert names >= EXPECTED
    facts = objects["ConfigMap", "tenant-extras-a", "extras-facts"]["data"]
    assert facts == {"where": "tenant-extras-a is for staging", "run.sh": "echo ${HOME}"}


def test_fields_that_the_api_server_defaults_are_no_drift(
    platform: Platform, extras: Manifest, plans: Path
) -> None:
    runs = platform.pulumi_run_count(tenant="extras")
    expect_no_drift(platform, plans)
    assert platform.pulumi_run_count(tenant="extras") == runs
    assert condition(platform.await_active(extras), "Ready")["status"] == "True"


def edited_object(edit: str) -> tuple[str, str, str]:
    """The kind, namespace and name of the edited object.

    Consecutive edits change objects in different namespaces. Otherwise, the watcher would report a contested
    object.
    """
    kind, name, *_ = EDITS[edit]
    return kind, NAMESPACES[list(EDITS).index(edit) % len(NAMESPACES)], name


# Each test edits at most five objects, because the status lists at most five.
@pytest.mark.parametrize("edits", [list(EDITS)[at::3] for at in range(3)], ids=", ".join)
def test_edited_extra_object_is_reverted(edits: list[str], platform: Platform, extras: Manifest) -> None:
    before = {edit: platform.get(*edited_object(edit)) or {} for edit in edits}
    object_names = {edit: "{} {}/{}".format(*edited_object(edit)) for edit in edits}
    changes = [f"{object_names[edit]} {EDITS[edit][4]} changed" for edit in edits]
    with paused(platform, extras):
        for edit in edits:
            platform.patch(*edited_object(edit), EDITS[edit][2])
        await_drift(platform, extras, "Paused", changes)
    await_drift(platform, extras, "Repaired", changes)
    for edit in edits:
        field = EDITS[edit][3]
        assert field(platform.get(*edited_object(edit)) or {}) == field(before[edit]), (
            f"{edit} of {object_names[edit]}"
        )


@pytest.mark.parametrize("objects", [sorted(EXPECTED)[::2], sorted(EXPECTED)[1::2]], ids=str)
def test_deleted_extra_object_is_restored(
    objects: list[tuple[str, str]], platform: Platform, extras: Manifest
) -> None:
    changes = [f"{kind} {NAMESPACE}/{name} deleted" for kind, name in objects]
    with paused(platform, extras):
        for kind, name in objects:
            platform.remove(kind, NAMESPACE, name)
        await_drift(platform, extras, "Paused", changes)
    await_drift(platform, extras, "Repaired", changes)
    for kind, name in objects:
        assert platform.get(kind, NAMESPACE, name) is not None, f"{kind} {name} is not restored"


def test_extra_object_of_a_tenant_that_is_not_paused_is_repaired(
    platform: Platform, extras: Manifest
) -> None:
    facts = ("ConfigMap", NAMESPACES[1], "extras-facts")
    runner = ("ServiceAccount", NAMESPACES[1], "runner")
    before = platform.get(*facts) or {}
    platform.patch(*facts, {"data": {"where": "y"}})
    await_drift(platform, extras, "Repaired", ["ConfigMap tenant-extras-b/extras-facts data.where changed"])
    assert (platform.get(*facts) or {})["data"] == before["data"]
    platform.remove(*runner)
    await_drift(platform, extras, "Repaired", ["ServiceAccount tenant-extras-b/runner deleted"])
    assert platform.get(*runner) is not None


def test_object_removed_from_the_tenant_is_deleted_and_the_plans_objects_stay(
    platform: Platform, extras: Manifest
) -> None:
    remaining = OF_TENANT[1:]
    platform.apply({**extras, "spec": {**extras["spec"], "extraResources": remaining}})
    platform.await_active(extras)
    assert platform.get("Service", NAMESPACE, "web") is None
    assert platform.get("ConfigMap", NAMESPACE, "extras-facts") is not None
    platform.apply(extras)
    platform.await_active(extras)
    assert platform.get("Service", NAMESPACE, "web") is not None
