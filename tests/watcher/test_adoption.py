"""Tenants adopt and release existing namespaces. The workloads in these namespaces do not change."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenancy.base.kinds import NAMESPACE, kind_of
from tenancy.base.labels import ADOPTION_ANNOTATION
from tests.platform import NewTenant, Platform, condition
from tests.waiting import eventually


def test_existing_namespace_is_adopted_with_its_workloads_untouched(
    platform: Platform, new_tenant: NewTenant, existing: Any
) -> None:
    before = existing("payments", "adopter", team="blue")
    workload = platform.workload("payments")
    manifest = new_tenant("adopter", adopt=True, namespaces=[{"name": "pay", "existing": "payments"}])
    tenant = platform.await_active(manifest)

    assert tenant["status"]["namespaceStatus"].keys() == {"payments"}
    live = platform.namespace("payments")
    assert live is not None
    assert live["metadata"]["uid"] == before["metadata"]["uid"]
    assert live["metadata"]["labels"]["tenant.platform.ai/name"] == "adopter"
    assert live["metadata"]["labels"]["team"] == "blue"
    assert platform.workload("payments") == workload
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
    assert platform.workload("tenant-taker")["data"] == {"kept": "yes"}


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
