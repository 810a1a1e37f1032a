"""A host belongs to at most one tenant."""

import pytest

from tenancy.objects.policy_annotations import hosts_overlap
from tests.admission.people import INGRESS, Attempt, Person, create
from tests.platform import NewTenant, Platform
from tests.waiting import eventually


@pytest.mark.parametrize(
    ("one", "other", "has_overlap"),
    [
        ("a.example.com", "a.example.com", True),
        ("a.example.com", "b.example.com", False),
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "*.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.a.example.com", "*.b.example.com", False),
        ("*.ple.com", "a.example.com", False),
    ],
)
def test_overlap_of_hosts_is_symmetric(one: str, other: str, has_overlap: bool) -> None:
    assert hosts_overlap(one, other) is has_overlap
    assert hosts_overlap(other, one) is has_overlap


def test_second_tenant_with_a_host_is_rejected_until_the_host_is_free(
    platform: Platform, new_tenant: NewTenant
) -> None:
    first = new_tenant("shop", hostnames=["*.shop.example.com"])
    assert platform.await_active(first)["status"]["hostnames"] == ["*.shop.example.com"]
    second = new_tenant("copy", hostnames=["copy.example.com", "pay.shop.example.com"])
    ready = platform.await_condition(second, "HostTaken")
    assert ready["message"] == (
        "spec.hostnames[1]: host 'pay.shop.example.com' belongs to tenant 'shop'; choose another host"
    )
    assert platform.objects("copy") == {}

    # After a restart, the watcher must not give the host to the second tenant.
    platform.stop()
    platform.start()

    def is_logged(message: str, tenant: str) -> bool:
        return any((line["message"], line.get("tenant")) == (message, tenant) for line in platform.log())

    eventually(lambda: is_logged("tenant failed", "copy"), "the second tenant is rejected again")
    eventually(lambda: is_logged("tenant unchanged", "shop"), "the first tenant is reconciled again")
    platform.await_condition(second, "HostTaken")
    platform.await_active(first)

    platform.apply({**first, "spec": {"hostnames": []}})
    platform.await_active(first)
    platform.apply({**second, "spec": {"hostnames": ["pay.shop.example.com"]}})
    platform.await_active(second)
    namespace = platform.namespace("tenant-copy")
    assert namespace is not None
    assert namespace["metadata"]["annotations"]["policy.platform.ai/hostnames"] == "pay.shop.example.com"


def test_host_is_free_only_after_no_ingress_names_it(platform: Platform, new_tenant: NewTenant) -> None:
    first = new_tenant(
        "host-keeper", adminUsers=["hanna"], hostnames=["kept.example.com", "*.kept.example.net"]
    )
    platform.await_active(first)
    hanna = Person.named(platform.admin_kubeconfig, "hanna")
    backend = {"service": {"name": "any", "port": {"number": 80}}}
    http = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
    rules = [{"host": host, "http": http} for host in ("kept.example.com", "a.kept.example.net")]
    ingress = create(INGRESS, "trap", "tenant-host-keeper", spec={"rules": rules})
    eventually(lambda: not hanna.refusal(ingress), lambda: hanna.refusal(ingress), 30)
    hanna.do(ingress)
    platform.apply({**first, "spec": {"adminUsers": ["hanna"], "hostnames": ["new.example.com"]}})
    held = ["new.example.com", "kept.example.com", "*.kept.example.net"]
    assert platform.await_active(first)["status"]["hostnames"] == held
    second = new_tenant("host-seeker", hostnames=["kept.example.com"])
    assert "belongs to tenant 'host-keeper'" in platform.await_condition(second, "HostTaken")["message"]

    # The watcher detects that the host is no longer used when it reconciles the tenant again.
    hanna.do(Attempt("DELETE", INGRESS.path("tenant-host-keeper", "trap")))
    platform.apply({**first, "spec": {"adminUsers": ["hanna"], "displayName": "Keeper"}})
    platform.await_active(second)
    eventually(
        lambda: (platform.tenant(first) or {})["status"]["hostnames"] == [], "the first tenant has no host"
    )


def test_host_is_free_only_after_its_removal_is_applied(platform: Platform, new_tenant: NewTenant) -> None:
    first = new_tenant("host-holder", hostnames=["held.example.com"])
    platform.await_active(first)
    platform.apply({**first, "spec": {"paused": True, "hostnames": []}})
    platform.await_condition(first, "Paused")
    second = new_tenant("heir", hostnames=["held.example.com"])
    assert "belongs to tenant 'host-holder'" in platform.await_condition(second, "HostTaken")["message"]

    platform.apply({**first, "spec": {"hostnames": []}})
    platform.await_active(first)
    platform.await_active(second)
