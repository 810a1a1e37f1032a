"""A namespace or host belongs to at most one tenant at any time, even before objects are created."""

from typing import Any

import pytest

from tenancy.base.errors import HostTaken, NamespaceTaken
from tenancy.base.manifest import Manifest
from tenancy.decision import Facts
from tenancy.plans import read_plans
from tenancy.reservations import Reservations

FACTS = Facts(read_plans())


def tenant(name: str, *hosts: str, **spec: Any) -> Manifest:
    return {"metadata": {"name": name}, "spec": {**spec, "hostnames": list(hosts)}}


def take(claims: Reservations, manifest: Manifest) -> None:
    claims.decide_and_reserve(manifest, FACTS)


# Both tenants need the namespace tenant-a-b-c.
FIRST = tenant("a", namespaces=[{"name": "b-c"}])
SECOND = tenant("a-b", namespaces=[{"name": "d"}, {"name": "c"}])


def test_namespace_belongs_to_the_first_tenant_that_claims_it() -> None:
    claims = Reservations()
    take(claims, FIRST)
    take(claims, FIRST)
    with pytest.raises(NamespaceTaken, match=r"namespaces\[1\].*'tenant-a-b-c' belongs to tenant 'a'"):
        take(claims, SECOND)
    # The rejected tenant has reserved nothing, so another tenant can get the namespace tenant-a-b-d.
    take(claims, tenant("a", namespaces=[{"name": "b-d"}]))
    claims.release("a")
    take(claims, SECOND)


def test_namespace_of_an_earlier_run_is_still_claimed() -> None:
    claims = Reservations()
    claims.remember("a", ["tenant-a-b-c"], [])
    with pytest.raises(NamespaceTaken):
        take(claims, SECOND)


def test_host_belongs_to_the_first_tenant_that_claims_it() -> None:
    claims = Reservations()
    take(claims, tenant("shop", "*.shop.example.com"))
    take(claims, tenant("shop", "*.shop.example.com"))
    with pytest.raises(HostTaken, match=r"hostnames\[1\].*'pay.shop.example.com' belongs to tenant 'shop'"):
        take(claims, tenant("copy", "copy.example.com", "pay.shop.example.com"))
    take(claims, tenant("third", "copy.example.com"))
    claims.release("shop")
    take(claims, tenant("copy", "pay.shop.example.com"))


def test_host_of_an_earlier_run_is_still_claimed() -> None:
    claims = Reservations()
    claims.remember("shop", [], ["shop.example.com"])
    with pytest.raises(HostTaken):
        take(claims, tenant("copy", "shop.example.com"))
