"""Tenants adopt and release existing namespaces. The workloads in these namespaces do not change."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenancy.base.kinds import CONFIG_MAP, NAMESPACE, kind_of
from tenancy.base.labels import ADOPTION_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.changes import Operation
from tests.platform import NewTenant, Platform, condition
from tests.waiting import eventually


@pytest.fixture
def existing(platform: Platform) -> Iterator[Any]:
    """A function that creates a namespace without a tenant, and a ConfigMap in it.

    The ConfigMap represents a workload. After the test, the fixture deletes the namespaces.
    """
    names: list[str] = []

    def create(name: str, tenant: str = "", **labels: str) -> Manifest:
        names.append(name)
        metadata = {"name": name, "labels": labels}
        if tenant:
            metadata["annotations"] = {ADOPTION_ANNOTATION: tenant}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        content = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "workload", "namespace": name},
            "data": {"kept": "yes"},
        }
        created = platform.admin.create(NAMESPACE, namespace)
        platform.admin.create(CONFIG_MAP, content)
        return created

    yield create
    for name in names:
        platform.admin.delete(NAMESPACE, name)


def _workload(platform: Platform, namespace: str) -> Manifest:
    config_map = platform.admin.get(CONFIG_MAP, "workload", namespace)
    assert config_map is not None
    return config_map


def test_existing_namespace_is_adopted_with_its_workloads_untouched(
    platform: Platform, new_tenant: NewTenant, existing: Any
) -> None:
    before = existing("payments", "adopter", team="blue")
    workload = _workload(platform, "payments")
    manifest = new_tenant("adopter", adopt=True, namespaces=[{"name": "pay", "existing": "payments"}])
    tenant = platform.await_active(manifest)

    assert tenant["status"]["namespaceStatus"].keys() == {"payments"}
    live = platform.namespace("payments")
    assert live is not None
    assert live["metadata"]["uid"] == before["metadata"]["uid"]
    assert live["metadata"]["labels"]["tenant.platform.ai/name"] == "adopter"
    assert live["metadata"]["labels"]["team"] == "blue"
    assert _workload(platform, "payments") == workload
    assert ("ResourceQuota", "payments", "tenant-quota") in platform.objects("adopter")


def test_namespace_with_the_tenants_default_name_is_adopted_only_with_adopt_true(
    platform: Platform, new_tenant: NewTenant, existing: Any
) -> None:
    existing("tenant-taker")
    manifest = new_tenant("taker")
    assert (
        "set spec.adopt to true to adopt it"
        in platform.await_condition(manifest, "NamespaceTaken")["message"]
    )
    platform.apply({**manifest, "spec": {"adopt": True}})
    command = f"kubectl annotate namespace tenant-taker {ADOPTION_ANNOTATION}=taker"
    eventually(
        lambda: command in platform.await_condition(manifest, "NamespaceTaken")["message"],
        "the status names the command that allows the adoption",
    )
    allowed = {"metadata": {"annotations": {ADOPTION_ANNOTATION: "taker"}}}
    platform.admin.patch(NAMESPACE, "tenant-taker", allowed)
    platform.await_active(manifest)
    assert _workload(platform, "tenant-taker")["data"] == {"kept": "yes"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("kube-system", "is reserved for Kubernetes"),
        ("default", "is reserved for Kubernetes"),
        ("tenancy-system", "is reserved for Kubernetes"),
        ("no-such-namespace", "does not exist"),
    ],
)
def test_namespace_that_cannot_be_adopted_is_named_in_the_status(
    platform: Platform, new_tenant: NewTenant, name: str, problem: str
) -> None:
    manifest = new_tenant(f"wants-{name}", adopt=True, namespaces=[{"name": "x", "existing": name}])
    message = platform.await_condition(manifest, "NamespaceTaken")["message"]
    assert message.startswith(f"spec.namespaces[0].existing: namespace {name!r} ")
    assert problem in message


def test_namespace_of_an_integrations_controller_is_not_adopted(
    platform: Platform, new_tenant: NewTenant, existing: Any
) -> None:
    existing("hnc-system")
    manifest = new_tenant("rooter", adopt=True, namespaces=[{"name": "x", "existing": "hnc-system"}])
    assert "is reserved for Kubernetes" in platform.await_condition(manifest, "NamespaceTaken")["message"]


def test_namespace_is_not_adopted_without_its_own_consent(
    platform: Platform, new_tenant: NewTenant, existing: Any
) -> None:
    """The namespace itself must allow the adoption.

    The rights to write Tenants and their status are not enough.
    """
    existing("backups", "somebody-else")
    manifest = new_tenant("collector", adopt=True, namespaces=[{"name": "x", "existing": "backups"}])
    platform.await_condition(manifest, "NamespaceTaken")
    forged = {"status": {"namespaceStatus": {"backups": {"ready": True}}}}
    platform.admin.patch(kind_of(manifest), "collector", forged, subresource="status")
    platform.apply({**manifest, "spec": {**manifest["spec"], "displayName": "Collector"}})

    def is_rejected_again() -> bool:
        tenant = platform.tenant(manifest) or {}
        is_current = tenant["status"].get("observedGeneration") == tenant["metadata"]["generation"]
        return is_current and condition(tenant, "Ready").get("reason") == "NamespaceTaken"

    eventually(is_rejected_again, "the new spec is rejected too")
    live = platform.namespace("backups")
    assert live is not None
    assert "tenant.platform.ai/name" not in live["metadata"]["labels"]


def test_another_tenants_namespace_is_never_adopted(platform: Platform, new_tenant: NewTenant) -> None:
    platform.await_active(new_tenant("victim"))
    thief = new_tenant("thief", adopt=True, namespaces=[{"name": "x", "existing": "tenant-victim"}])
    message = platform.await_condition(thief, "NamespaceTaken")["message"]
    assert "'tenant-victim' belongs to tenant 'victim'" in message
    namespace = platform.namespace("tenant-victim")
    assert namespace is not None
    assert namespace["metadata"]["labels"]["tenant.platform.ai/name"] == "victim"


def test_namespaces_of_an_earlier_tenant_need_the_same_account(
    platform: Platform, new_tenant: NewTenant
) -> None:
    """A customer cannot get the data of an earlier customer by creating a Tenant with the same name."""
    account = {"userId": "17", "username": "first"}
    earlier = new_tenant("returning", **account)
    platform.await_active(earlier)
    created = (platform.namespace("tenant-returning") or {})["metadata"]["creationTimestamp"]
    platform.abandon(earlier)
    # Kubernetes stores times in whole seconds.
    next_second = datetime.fromisoformat(created) + timedelta(seconds=1)
    eventually(lambda: datetime.now(UTC) >= next_second, "the next Tenant is newer than the namespace")

    other = new_tenant("returning", userId="18", username="first")
    message = platform.await_condition(other, "NamespaceTaken")["message"]
    assert "was left by an earlier tenant 'returning' with another account (userId: 17, " in message
    # The same account gets its namespaces back, for example after the CRD was installed again.
    platform.apply({**other, "spec": account})
    platform.await_active(other)
    platform.abandon(other)
    platform.await_active(new_tenant("returning", username="second", adopt=True))


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
    workload = _workload(platform, "keepsake")
    platform.delete(manifest)
    platform.await_gone(manifest)

    assert platform.objects("leaver") == {}
    for name, labels in (("keepsake", {"team": "blue"}), ("tenant-leaver-new", {})):
        live = platform.namespace(name)
        assert live is not None
        assert "deletionTimestamp" not in live["metadata"]
        assert live["metadata"]["labels"] == {"kubernetes.io/metadata.name": name, **labels}
        assert not set(live["metadata"].get("annotations") or ()) - {ADOPTION_ANNOTATION}
    assert _workload(platform, "keepsake") == workload
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
    assert _workload(platform, "outgoing")["data"] == {"kept": "yes"}


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
    assert _workload(platform, "departing")["data"] == {"kept": "yes"}
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
