"""Extra objects of plans and tenants: created in each namespace, repaired, and deleted with their entry."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.errors import ClusterError
from tenancy.base.manifest import Manifest
from tenancy.plans import SHIPPED_PLANS
from tests.platform import NewTenant, Platform, condition, tenant_manifest
from tests.waiting import eventually

NAMESPACE = "tenant-extras-a"
NAMESPACES = (NAMESPACE, "tenant-extras-b")


def extra(kind: str, name: str, version: str = "v1", **body: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body}


OF_PLAN = [
    extra(
        "ConfigMap",
        "${tenant.name}-facts",
        data={"where": "${tenant.namespace} is for ${tenant.purpose}", "run.sh": "echo ${HOME}"},
    ),
    extra("ServiceAccount", "runner", automountServiceAccountToken=False),
]
OF_TENANT = [
    extra("Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
    extra(
        "PodDisruptionBudget",
        "web",
        "policy/v1",
        spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    ),
    extra("ResourceQuota", "jobs", spec={"hard": {"count/jobs.batch": 5, "requests.memory": "1024Mi"}}),
    extra("LimitRange", "claims", spec={"limits": [{"type": "Container", "max": {"example.com/gpu": 1}}]}),
    extra(
        "NetworkPolicy",
        "to-database",
        "networking.k8s.io/v1",
        spec={
            "podSelector": {"matchLabels": {"app": "web"}},
            "egress": [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": 5432}]}],
        },
    ),
]
EXPECTED = {
    ("ConfigMap", "extras-facts"),
    ("ServiceAccount", "runner"),
    *((manifest["kind"], manifest["metadata"]["name"]) for manifest in OF_TENANT),
}

# Kind and name of the object, the patch, the changed part of the object, and its path in the status.
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
    """One tenant for all tests of this module, and a watcher with its plan."""
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
    running_platform.verify_and_delete([manifest])
    running_platform.stop()
    running_platform.start()


@contextmanager
def paused(platform: Platform, tenant: Manifest) -> Iterator[None]:
    """Pause the tenant. On exit, resume it and wait until it is Active."""
    platform.apply({**tenant, "spec": {**tenant["spec"], "paused": True}})
    platform.await_condition(tenant, "Paused")
    yield
    platform.apply(tenant)
    platform.await_active(tenant)


def await_drift(platform: Platform, tenant: Manifest, reason: str, changes: list[str]) -> None:
    """Wait until the Drifted condition has the reason and reports all of these changes."""

    def is_reported() -> bool:
        drifted = condition(platform.tenant(tenant) or {}, "Drifted")
        return drifted.get("reason") == reason and all(text in drifted["message"] for text in changes)

    eventually(is_reported, f"the status reports {changes}; tenant is {platform.tenant(tenant)}")


def expect_no_drift(platform: Platform, plans: Path) -> None:
    """Check that a preview that refreshes every object shows no changes."""
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
    """Kind, namespace and name of the edited object.

    The namespaces alternate: edits of one object in a row would make it contested.
    """
    kind, name, *_ = EDITS[edit]
    return kind, NAMESPACES[list(EDITS).index(edit) % len(NAMESPACES)], name


# At most five objects per test: the status does not name more.
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


BAD: dict[str, tuple[Manifest, str]] = {
    "version": (extra("ConfigMap", "x", "v2"), "spec.extraResources[0].apiVersion: 'v2' is not allowed"),
    "placeholder": (
        extra("ConfigMap", "x", data={"a": "${tenant.nope}"}),
        "spec.extraResources[0].data.a: unknown placeholder ${tenant.nope}",
    ),
    "label": (
        extra("ConfigMap", "x", data={"a": "${tenant.labels[nope]}"}),
        "spec.extraResources[0].data.a: namespace 'tenant-bad-label' has no value for ${tenant.labels[nope]}",
    ),
    "taken": (
        extra("ResourceQuota", "tenant-quota", spec={"hard": {"cpu": 1}}),
        (
            "spec.extraResources[0].metadata.name: the tenant already has ResourceQuota "
            "tenant-bad-taken/tenant-quota"
        ),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_extra_object_is_rejected_with_its_field(
    case: str, platform: Platform, new_tenant: NewTenant
) -> None:
    manifest, message = BAD[case]
    tenant = new_tenant(f"bad-{case}", extraResources=[manifest])
    assert platform.await_condition(tenant, "InvalidSpec")["message"].startswith(message)
    assert platform.objects(f"bad-{case}") == {}


def test_kind_that_is_not_allowed_is_refused_by_the_api_server(platform: Platform) -> None:
    secret = extra("Secret", "x")
    with pytest.raises(ClusterError, match=r"spec\.extraResources\[0\]\.kind: Unsupported value") as refusal:
        platform.create(tenant_manifest("bad-kind", extraResources=[secret]))
    assert refusal.value.status == 422


def test_existing_object_of_the_tenant_is_not_overwritten(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("settler")
    platform.await_active(manifest)
    existing = {**extra("ConfigMap", "settings"), "data": {"mine": "yes"}}
    platform.apply({**existing, "metadata": {"name": "settings", "namespace": "tenant-settler"}})
    extra_object = extra("ConfigMap", "settings", data={"mine": "no"})
    platform.apply({**manifest, "spec": {"extraResources": [extra_object]}})
    ready = platform.await_condition(manifest, "ObjectTaken")
    assert ready["message"] == (
        "spec.extraResources: ConfigMap tenant-settler/settings exists already and is not managed by the "
        "platform; delete it, or rename the extra object"
    )
    up = platform.pulumi("tenant-settler", "up", "--yes", "--skip-preview")
    assert up.returncode != 0
    assert "ConfigMap tenant-settler/settings exists already" in up.stdout + up.stderr
    live = platform.get("ConfigMap", "tenant-settler", "settings")
    assert live is not None
    assert live["data"] == {"mine": "yes"}

    platform.remove("ConfigMap", "tenant-settler", "settings")
    platform.apply({**manifest, "spec": {"extraResources": [extra_object], "displayName": "tried again"}})
    platform.await_active(manifest)
