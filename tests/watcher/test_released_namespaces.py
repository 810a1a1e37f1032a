"""Namespaces that leave a tenant are released. The namespaces and their workloads stay."""

from typing import Any

from tenancy.base.kinds import NAMESPACE
from tenancy.base.labels import ADOPTION_ANNOTATION
from tenancy.changes import Operation
from tests.platform import NewTenant, Platform
from tests.waiting import eventually


def test_retained_namespaces_stay_with_their_workloads_and_without_platform_objects(
    platform: Platform, new_tenant: NewTenant, existing: Any
) -> None:
    existing("keepsake", "leaver", team="blue")
    manifest = new_tenant(
        "leaver",
        adopt=True,
        deletionPolicy="Retain",
        username="someone",
        namespaces=[{"name": "old", "existing": "keepsake"}, {"name": "new"}],
    )
    platform.await_active(manifest)
    workload = platform.workload("keepsake")
    platform.delete(manifest)
    platform.await_gone(manifest)

    assert platform.objects("leaver") == {}
    for name, labels in (("keepsake", {"team": "blue"}), ("tenant-leaver-new", {})):
        live = platform.namespace(name)
        assert live is not None
        assert "deletionTimestamp" not in live["metadata"]
        assert live["metadata"]["labels"] == {"kubernetes.io/metadata.name": name, **labels}
        assert not set(live["metadata"].get("annotations") or ()) - {ADOPTION_ANNOTATION}
    assert platform.workload("keepsake") == workload
    # The stack is deleted too, so a new tenant can use the name.
    assert "no stack named" in platform.pulumi("tenant-leaver", "stack", "history").stderr
    platform.admin.delete(NAMESPACE, "tenant-leaver-new")


def test_namespace_dropped_from_a_retaining_tenant_stays(
    platform: Platform, new_tenant: NewTenant, existing: Any
) -> None:
    existing("outgoing", "dropper")
    manifest = new_tenant(
        "dropper",
        adopt=True,
        deletionPolicy="Retain",
        namespaces=[{"name": "a"}, {"name": "b", "existing": "outgoing"}],
    )
    platform.await_active(manifest)
    spec = {"deletionPolicy": "Retain", "namespaces": [{"name": "a"}]}
    platform.apply({**manifest, "spec": spec})
    platform.await_active(manifest)

    def is_released() -> bool:
        live = platform.namespace("outgoing")
        assert live is not None
        assert "deletionTimestamp" not in live["metadata"]
        return "tenant.platform.ai/name" not in live["metadata"]["labels"]

    eventually(is_released, "the namespace has no labels of the platform")
    assert not [key for key in platform.objects("dropper") if "outgoing" in key]
    assert platform.workload("outgoing")["data"] == {"kept": "yes"}


def test_namespace_removed_together_with_the_change_to_retain_stays(
    platform: Platform, new_tenant: NewTenant, existing: Any
) -> None:
    existing("departing", "waverer")
    namespaces = [{"name": "a"}, {"name": "b", "existing": "departing"}]
    manifest = new_tenant("waverer", adopt=True, namespaces=namespaces)
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"deletionPolicy": "Retain", "namespaces": [{"name": "a"}]}})
    platform.await_active(manifest)

    def is_released() -> bool:
        live = platform.namespace("departing")
        assert live is not None
        assert "deletionTimestamp" not in live["metadata"]
        return set(live["metadata"]["labels"]) == {"kubernetes.io/metadata.name"}

    eventually(is_released, "the namespace has no labels of the platform")
    assert not [key for key in platform.objects("waverer") if "departing" in key]
    assert platform.workload("departing")["data"] == {"kept": "yes"}
    # The change needs two updates. In the history, each update contains only its own changes.
    released, marked, _ = platform.stacks.history("waverer")
    assert marked.cause == f"{released.cause}: marks namespaces to keep"
    assert released.record is not None
    assert [(change.operation, str(change.key)) for change in released.record.changes] == [
        (Operation.RELEASE, "Namespace departing")
    ]
    assert marked.record is not None
    assert "departing" not in {change.name for change in marked.record.changes}


def test_namespace_that_was_dropped_just_before_a_restart_is_released(
    platform: Platform, new_tenant: NewTenant, existing: Any
) -> None:
    existing("forgotten")
    manifest = new_tenant("restarted", deletionPolicy="Retain")
    platform.await_active(manifest)
    platform.stop()
    # Create the state in the middle of a release: the namespace has the labels, but no stack and no status
    # contains it.
    labels = {"tenant.platform.ai/name": "restarted", "tenant.platform.ai/managed": "true"}
    platform.admin.patch(NAMESPACE, "forgotten", {"metadata": {"labels": labels}})
    platform.start()

    def is_released() -> bool:
        live = platform.namespace("forgotten")
        assert live is not None
        assert "deletionTimestamp" not in live["metadata"]
        return set(live["metadata"]["labels"]) == {"kubernetes.io/metadata.name"}

    eventually(is_released, "the namespace has no labels of the platform")
