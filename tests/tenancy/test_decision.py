"""`decide` returns the desired state, or rejects the spec with a field and a reason.

All entry points use it.
"""

import contextlib
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from tenancy.base.errors import (
    HostTaken,
    InvalidSpec,
    NamespaceTaken,
    ObjectTaken,
    QuotaInUse,
    Rejection,
    UnknownPlan,
)
from tenancy.base.labels import object_labels
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.decision import Facts, decide, keys_to_read
from tenancy.objects.integrations import ALL_INTEGRATION_KINDS
from tenancy.plans import read_plans
from tenancy.reservations import Reservations

PLANS = read_plans()
NAMESPACE = ObjectKey("Namespace", "", "tenant-acme")
CONFIG = ObjectKey("ConfigMap", "tenant-acme", "settings")
EXTRA = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}]


def tenant(name: str = "acme", **spec: Any) -> Manifest:
    return {"metadata": {"name": name}, "spec": spec}


def live(key: ObjectKey, labels: Mapping[str, str] | None = None, **metadata: Any) -> Manifest:
    return {"kind": key.kind, "metadata": {"name": key.name, "labels": dict(labels or {}), **metadata}}


def rejection(manifest: Manifest, **facts: Any) -> Rejection:
    with pytest.raises(Rejection) as caught:
        decide(manifest, Facts(PLANS, **facts))
    return caught.value


def test_tenant_that_can_be_built_has_a_desired_state() -> None:
    decision = decide(tenant(plan="pro"), Facts(PLANS))
    assert decision.tenant.name == "acme"
    assert decision.desired.namespaces == ("tenant-acme",)


@pytest.mark.parametrize(
    ("spec", "kind", "field"),
    [
        ({"plan": "gold"}, UnknownPlan, "spec.plan"),
        ({"plan": 7}, InvalidSpec, "spec.plan"),
        ({"colour": "red"}, InvalidSpec, "spec.colour"),
        ({"namespaces": [{"name": f"n{i}"} for i in range(50)]}, InvalidSpec, "spec.namespaces"),
    ],
)
def test_invalid_spec_is_rejected_with_its_field(
    spec: dict[str, Any], kind: type[Rejection], field: str
) -> None:
    error = rejection(tenant(**spec))
    assert type(error) is kind
    assert error.field == field
    assert str(error).startswith(f"{field}: ")


def test_namespace_of_another_tenant_is_rejected() -> None:
    error = rejection(tenant(), holders={"tenant-acme": "other"})
    assert (type(error), error.field) == (NamespaceTaken, "metadata.name")
    assert "belongs to tenant 'other'" in str(error)
    decide(tenant(), Facts(PLANS, holders={"tenant-acme": "acme"}))


@pytest.mark.parametrize(
    ("namespace", "spec", "problem"),
    [
        (live(NAMESPACE), {}, "set spec.adopt to true to adopt it"),
        (live(NAMESPACE, object_labels("other")), {"adopt": True}, "belongs to tenant 'other'"),
        (live(NAMESPACE, {"platform.ai/shared": "true"}), {"adopt": True}, "is reserved for Kubernetes"),
        (live(NAMESPACE, deletionTimestamp="now"), {"adopt": True}, "is being deleted"),
    ],
)
def test_live_namespace_that_cannot_be_taken_is_rejected(
    namespace: Manifest, spec: dict[str, Any], problem: str
) -> None:
    error = rejection(tenant(**spec), live={NAMESPACE: namespace})
    assert isinstance(error, NamespaceTaken)
    assert problem in str(error)


@pytest.mark.parametrize("namespace", [live(NAMESPACE, object_labels("acme")), None])
def test_own_or_absent_namespace_is_accepted(namespace: Manifest | None) -> None:
    decide(tenant(), Facts(PLANS, live={NAMESPACE: namespace}))


def test_existing_namespace_must_exist() -> None:
    spec: dict[str, Any] = {"adopt": True, "namespaces": [{"name": "web", "existing": "shop"}]}
    error = rejection(tenant(**spec), live={ObjectKey("Namespace", "", "shop"): None})
    assert error.field == "spec.namespaces[0].existing"
    assert "does not exist" in str(error)


def test_host_of_another_tenant_is_rejected() -> None:
    manifest = tenant(hostnames=["a.example.test", "b.example.test"])
    error = rejection(manifest, hosts={"other": ("*.example.test",)})
    assert (type(error), error.field) == (HostTaken, "spec.hostnames[0]")
    decide(manifest, Facts(PLANS, hosts={"acme": ("*.example.test",)}))


def test_object_of_the_tenants_users_is_not_overwritten() -> None:
    error = rejection(tenant(extraResources=EXTRA), live={CONFIG: live(CONFIG)})
    assert (type(error), error.field) == (ObjectTaken, "spec.extraResources")
    decide(tenant(extraResources=EXTRA), Facts(PLANS, live={CONFIG: live(CONFIG, object_labels("acme"))}))


def test_share_below_use_is_rejected() -> None:
    spec: dict[str, Any] = {"quotaScope": "Tenant", "namespaces": [{"name": "a"}, {"name": "b"}]}
    desired = decide(tenant(**spec), Facts(PLANS)).desired
    quotas = {}
    for key, manifest in desired.by_key.items():
        if (
            key.kind == "ResourceQuota"
            and key.namespace == "tenant-acme-a"
            and "pods" in manifest["spec"]["hard"]
        ):
            quotas[key] = {**manifest, "spec": {"hard": {"pods": "20"}}, "status": {"used": {"pods": "20"}}}
    assert quotas
    error = rejection(tenant(**spec), quotas=quotas)
    assert (type(error), error.field) == (QuotaInUse, "")
    assert "uses 20 of pods" in str(error)


def test_only_objects_that_may_be_somebody_elses_are_read() -> None:
    assert keys_to_read(tenant(extraResources=EXTRA), PLANS, ALL_INTEGRATION_KINDS) == [NAMESPACE, CONFIG]
    # An invalid spec leads to no objects. With an unknown plan, only the namespaces are known.
    assert keys_to_read(tenant(colour="red"), PLANS, ALL_INTEGRATION_KINDS) == []
    assert keys_to_read(tenant(plan="gold"), PLANS, ALL_INTEGRATION_KINDS) == [NAMESPACE]


def test_two_tenants_that_decide_at_once_do_not_both_get_a_namespace() -> None:
    claims, facts = Reservations(), Facts(PLANS)
    manifests = [tenant("a", namespaces=[{"name": "b-c"}]), tenant("a-b", namespaces=[{"name": "c"}])]
    start, winners = threading.Barrier(len(manifests)), []

    def reserve(manifest: Manifest) -> None:
        start.wait()
        with contextlib.suppress(NamespaceTaken):
            winners.append(claims.decide_and_reserve(manifest, facts).tenant.name)

    threads = [threading.Thread(target=reserve, args=(manifest,)) for manifest in manifests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1


def test_rejected_tenant_reserves_nothing() -> None:
    claims, facts = Reservations(), Facts(PLANS)
    claims.decide_and_reserve(tenant("first", hostnames=["x.example.test"]), facts)
    with pytest.raises(HostTaken):
        claims.decide_and_reserve(
            tenant("a", namespaces=[{"name": "b"}], hostnames=["x.example.test"]), facts
        )
    claims.decide_and_reserve(tenant("a-b"), facts)
