"""In every state of a tenant, the watcher reverts edits and deletions, even after a restart."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tenancy.base.manifest import Manifest
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually
from tests.watcher.isolation import ALICE, await_isolation, break_isolation


def namespace_of(manifest: Manifest, name: str) -> str:
    return f"tenant-{manifest['metadata']['name']}-{name}"


@contextmanager
def rejected(platform: Platform, manifest: Manifest) -> Iterator[str]:
    platform.apply({**manifest, "spec": {**manifest["spec"], "plan": "no-such-plan"}})
    yield "UnknownPlan"


@contextmanager
def locked(platform: Platform, manifest: Manifest) -> Iterator[str]:
    folder = platform.stack_folder("locks") / "organization" / "tenancy" / "tenant-kept-locked"
    folder.mkdir(parents=True, exist_ok=True)
    holder = {"pid": 1, "username": "jane", "hostname": "far-away", "timestamp": "2030-01-02T03:04:05Z"}
    (folder / "another.json").write_text(json.dumps(holder))
    platform.apply({**manifest, "spec": {**manifest["spec"], "plan": "pro"}})
    yield "UpdateConflict"
    (folder / "another.json").unlink()


@contextmanager
def contested(platform: Platform, manifest: Manifest) -> Iterator[str]:
    """Edit the quota every 0.3 s, so that it becomes contested."""
    is_over = threading.Event()

    def edit_repeatedly() -> None:
        while not is_over.wait(0.3):
            change = {"spec": {"hard": {"cpu": "64"}}}
            platform.patch("ResourceQuota", namespace_of(manifest, "a"), "tenant-quota", change)

    editor = threading.Thread(target=edit_repeatedly)
    editor.start()
    try:
        yield "DriftContested"
    finally:
        is_over.set()
        editor.join()


@contextmanager
def terminating_namespace(platform: Platform, manifest: Manifest) -> Iterator[str]:
    """Delete one of the tenant's two namespaces.

    An object with a finalizer in the namespace blocks the deletion.
    """
    metadata = {"name": "holds", "namespace": namespace_of(manifest, "b")}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    platform.apply({**config_map, "metadata": {**metadata, "finalizers": ["example.test/holds"]}})
    platform.remove("Namespace", "", metadata["namespace"])
    yield "NamespaceTerminating"
    platform.patch("ConfigMap", metadata["namespace"], metadata["name"], {"metadata": {"finalizers": None}})


@contextmanager
def protected_deletion(platform: Platform, manifest: Manifest) -> Iterator[str]:
    """Delete the Tenant, and then protect it. At this time, admission can no longer reject the deletion."""
    platform.stop()
    platform.delete(manifest)
    platform.apply({**manifest, "spec": {**manifest["spec"], "protected": True}})
    platform.start()
    yield "Protected"
    platform.apply(manifest)
    platform.await_gone(manifest)


@contextmanager
def taken_object(platform: Platform, manifest: Manifest) -> Iterator[str]:
    """Add an extra object to the spec.

    An object with the same name already exists in the tenant's namespace.
    """
    metadata = {"name": "settings", "namespace": "tenant-kept-taken-object-a"}
    platform.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"mine": "yes"}})
    extra = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"mine": "no"},
    }
    platform.apply({**manifest, "spec": {**manifest["spec"], "extraResources": [extra]}})
    yield "ObjectTaken"


@contextmanager
def taken_namespace(platform: Platform, manifest: Manifest) -> Iterator[str]:
    """Change the spec: add a namespace that no tenant can adopt."""
    namespaces = [*manifest["spec"]["namespaces"], {"name": "c", "existing": "default"}]
    platform.apply({**manifest, "spec": {**manifest["spec"], "adopt": True, "namespaces": namespaces}})
    yield "NamespaceTaken"


@contextmanager
def taken_host(platform: Platform, manifest: Manifest) -> Iterator[str]:
    """Change the spec: add a host that belongs to another tenant."""
    owner = tenant_manifest("kept-host-owner", hostnames=["kept.example.test"])
    platform.apply(owner)
    platform.await_active(owner)
    platform.apply({**manifest, "spec": {**manifest["spec"], "hostnames": ["kept.example.test"]}})
    yield "HostTaken"
    platform.abandon(owner)


@contextmanager
def half_done(platform: Platform, manifest: Manifest) -> Iterator[str]:
    """Run an update that creates a namespace, and then fails because the API server rejects an object."""
    extra = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"not a key": "x"},
    }
    namespaces = [*manifest["spec"]["namespaces"], {"name": "c"}]
    platform.apply(
        {**manifest, "spec": {**manifest["spec"], "namespaces": namespaces, "extraResources": [extra]}}
    )
    yield "UpdateFailed"


# protected_deletion must be first, because it restarts the watcher.
STATES = {
    state.__name__.replace("_", "-"): state
    for state in (
        protected_deletion,
        rejected,
        locked,
        contested,
        terminating_namespace,
        taken_object,
        taken_namespace,
        taken_host,
        half_done,
    )
}


def tenant(state: str) -> Manifest:
    return tenant_manifest(f"kept-{state}", adminUsers=ALICE, namespaces=[{"name": "a"}, {"name": "b"}])


@pytest.fixture(scope="module")
def in_all_states(running_platform: Platform) -> Iterator[Platform]:
    """The platform with one tenant in each state. Each tenant was applied before it entered its state."""
    platform, manifests = running_platform, {state: tenant(state) for state in STATES}
    platform.ensure_started()
    for manifest in manifests.values():
        platform.apply(manifest)
    for manifest in manifests.values():
        platform.await_active(manifest)
    with ExitStack() as stack:
        reasons = {
            state: stack.enter_context(enter(platform, manifests[state])) for state, enter in STATES.items()
        }
        for state, reason in reasons.items():
            platform.await_condition(manifests[state], reason)
        yield platform
        for state, reason in reasons.items():
            platform.await_condition(manifests[state], reason)  # The tests have not ended the state.
    for manifest in manifests.values():
        platform.abandon(manifest)


@pytest.mark.parametrize("state", STATES)
def test_edit_and_deletion_are_reverted(in_all_states: Platform, state: str) -> None:
    break_isolation(in_all_states, state)
    await_isolation(in_all_states, state)


def test_edits_and_deletions_are_reverted_after_a_restart(in_all_states: Platform) -> None:
    """The test changes objects while the watcher is stopped, and again after the restart."""
    platform = in_all_states
    platform.stop()
    for state in STATES:
        break_isolation(platform, state)
    platform.start()
    for state in STATES:
        await_isolation(platform, state)
    for state in STATES:
        break_isolation(platform, state)
    for state in STATES:
        await_isolation(platform, state)


def test_label_of_a_terminating_namespace_is_restored(in_all_states: Platform) -> None:
    namespace, label = "tenant-kept-terminating-namespace-b", "pod-security.kubernetes.io/enforce"
    in_all_states.patch("Namespace", "", namespace, {"metadata": {"labels": {label: "privileged"}}})
    eventually(
        lambda: (in_all_states.namespace(namespace) or {})["metadata"]["labels"][label] == "restricted",
        "the label is back",
    )


def test_no_other_field_manager_keeps_a_field_of_a_repaired_object(in_all_states: Platform) -> None:
    quota = ("ResourceQuota", "tenant-kept-rejected-b", "tenant-quota")
    before = in_all_states.get(*quota) or {}
    change = {"spec": {"hard": {"cpu": "64", "count/deployments.apps": "7"}}}
    in_all_states.patch(*quota, change)
    eventually(
        lambda: (in_all_states.get(*quota) or {})["spec"] == before["spec"],
        "the quota is restored",
    )
    after = in_all_states.get(*quota) or {}
    assert spec_writers(after) == spec_writers(before)


def spec_writers(manifest: Manifest) -> set[tuple[str, str]]:
    """The manager and the operation of each managedFields entry that contains a field of the spec."""
    return {
        (entry["manager"], entry["operation"])
        for entry in manifest["metadata"]["managedFields"]
        if "f:spec" in entry["fieldsV1"]
    }
