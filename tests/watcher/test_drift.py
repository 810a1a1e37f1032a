"""After a watch event, the watcher restores an edited or deleted object. The status reports the repair."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tenancy.base.manifest import Manifest
from tests.platform import NewTenant, Platform, condition, tenant_manifest
from tests.waiting import eventually

NAMESPACE = "tenant-drifts"
FROM_EVERYWHERE: list[Manifest] = [{"from": [{"namespaceSelector": {}}]}]
EVE = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}

# Each value is the kind and name of an object, the patch, a function that returns the changed part of the
# object, and the path of this part in the status.
EDITS: dict[str, tuple[str, str, Manifest, Callable[[Manifest], Any], str]] = {
    "a binding's subjects": (
        *("RoleBinding", "tenant-admin", {"subjects": [EVE]}),
        lambda live: live.get("subjects"),
        "subjects[0].name",
    ),
    "a subject in a binding that has none": (
        *("RoleBinding", "tenant-viewer", {"subjects": [EVE]}),
        lambda live: live.get("subjects"),
        "subjects",
    ),
    "a role's rules": (*("Role", "tenant-viewer", {"rules": []}), lambda live: live["rules"], "rules"),
    "a quota": (
        *("ResourceQuota", "tenant-quota", {"spec": {"hard": {"cpu": "64"}}}),
        lambda live: live["spec"]["hard"],
        "spec.hard.cpu",
    ),
    "the limits": (
        *("LimitRange", "tenant-limits", {"spec": {"limits": []}}),
        lambda live: live["spec"]["limits"],
        "spec.limits",
    ),
    "a rule in default-deny": (
        *("NetworkPolicy", "default-deny-all", {"spec": {"ingress": [{}]}}),
        lambda live: live["spec"].get("ingress"),
        "spec.ingress",
    ),
    "default-deny's selector": (
        *("NetworkPolicy", "default-deny-all", {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}),
        lambda live: live["spec"]["podSelector"],
        "spec.podSelector.matchLabels",
    ),
    "a policy's rules": (
        *(
            "NetworkPolicy",
            "allow-intra-tenant",
            {"spec": {"ingress": [{"from": [{"namespaceSelector": {}}]}]}},
        ),
        lambda live: live["spec"]["ingress"],
        "spec.ingress[0].from[0].namespaceSelector.matchLabels.tenant.platform.ai/name",
    ),
    "the managed label": (
        *("Role", "tenant-operator", {"metadata": {"labels": {"tenant.platform.ai/managed": None}}}),
        lambda live: live["metadata"]["labels"],
        "metadata.labels.tenant.platform.ai/managed",
    ),
    "the tenant's label": (
        *("Role", "tenant-operator", {"metadata": {"labels": {"tenant.platform.ai/name": "other"}}}),
        lambda live: live["metadata"]["labels"],
        "metadata.labels.tenant.platform.ai/name",
    ),
}


@pytest.fixture(scope="module")
def drifting_tenant(running_platform: Platform) -> Iterator[Manifest]:
    """A tenant that all tests of this module share. Each test waits until its drift is repaired."""
    running_platform.ensure_started()
    manifest = tenant_manifest("drifts", adminUsers=["alice"])
    running_platform.apply(manifest)
    yield manifest
    running_platform.verify_and_abandon([manifest])


@pytest.fixture
def drifting(platform: Platform, drifting_tenant: Manifest) -> Manifest:
    """The shared tenant. The fixture waits until the Tenant is Active and has no drift."""
    platform.await_active(drifting_tenant)
    return drifting_tenant


def await_repair(platform: Platform, tenant: Manifest, change: str) -> None:
    """Wait until the status reports that this drift was repaired."""

    def is_reported() -> bool:
        drifted = condition(platform.tenant(tenant) or {}, "Drifted")
        return (
            drifted["status"] == "False" and drifted["reason"] == "Repaired" and change in drifted["message"]
        )

    eventually(
        is_reported, f"the status reports the repair of: {change}; tenant is {platform.tenant(tenant)}"
    )


@pytest.mark.parametrize("edit", EDITS)
def test_edited_object_is_reverted(edit: str, platform: Platform, drifting: Manifest) -> None:
    kind, name, change, field, path = EDITS[edit]
    before = platform.get(kind, NAMESPACE, name)
    assert before is not None
    platform.patch(kind, NAMESPACE, name, change)

    def is_reverted() -> bool:
        live = platform.get(kind, NAMESPACE, name)
        return live is not None and field(live) == field(before)

    eventually(is_reverted, f"{kind} {name} is reverted")
    await_repair(platform, drifting, f"{kind} {NAMESPACE}/{name} {path} changed")


def test_deleted_role_comes_back(platform: Platform, drifting: Manifest) -> None:
    old = platform.get("Role", NAMESPACE, "tenant-admin")
    platform.remove("Role", NAMESPACE, "tenant-admin")
    new = eventually(lambda: platform.get("Role", NAMESPACE, "tenant-admin"), "the Role is back")
    assert old is not None
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["rules"] == old["rules"]
    await_repair(platform, drifting, f"Role {NAMESPACE}/tenant-admin deleted")
    assert "DriftRepaired" in [reason for reason, _ in platform.events("drifts")]
    assert platform.history("drifts")[0]["message"].startswith("drift: Role")


def test_changed_namespace_label_is_restored(platform: Platform, drifting: Manifest) -> None:
    label = "pod-security.kubernetes.io/enforce"
    platform.patch("Namespace", "", NAMESPACE, {"metadata": {"labels": {label: "privileged"}}})
    eventually(
        lambda: (platform.namespace(NAMESPACE) or {})["metadata"]["labels"][label] == "restricted",
        "the label is back",
    )
    await_repair(platform, drifting, f"Namespace {NAMESPACE} metadata.labels.{label} changed")


def test_deleted_namespace_is_recreated_with_all_its_objects(platform: Platform, drifting: Manifest) -> None:
    before = platform.objects("drifts")
    platform.remove("Namespace", "", NAMESPACE)

    def is_recreated() -> bool:
        after = platform.objects("drifts")
        old_uid = before["Namespace", "", NAMESPACE]["metadata"]["uid"]
        namespace = after.get(("Namespace", "", NAMESPACE))
        return (
            after.keys() == before.keys()
            and namespace is not None
            and namespace["metadata"]["uid"] != old_uid
        )

    eventually(is_recreated, "the namespace and its objects are back")
    platform.await_active(drifting)


def test_object_with_forged_labels_is_removed(platform: Platform, drifting: Manifest) -> None:
    labels = {"tenant.platform.ai/name": "drifts", "tenant.platform.ai/managed": "true"}
    api_version = "rbac.authorization.k8s.io/v1"
    metadata = {"name": "planted", "namespace": NAMESPACE, "labels": labels}
    platform.apply({"apiVersion": api_version, "kind": "Role", "metadata": metadata, "rules": []})
    eventually(lambda: platform.get("Role", NAMESPACE, "planted") is None, "the planted Role is gone")
    assert condition(platform.await_active(drifting), "Ready")["status"] == "True"


def test_namespace_with_forged_labels_is_left_alone(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("claimed")
    platform.await_active(manifest)
    labels = {"tenant.platform.ai/name": "claimed", "tenant.platform.ai/managed": "true"}
    platform.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bystander", "labels": labels}}
    )
    platform.delete(manifest)
    platform.await_gone(manifest)
    bystander = platform.namespace("bystander")
    assert bystander is not None
    assert "deletionTimestamp" not in bystander["metadata"]
    platform.remove("Namespace", "", "bystander")
