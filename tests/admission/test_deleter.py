"""A user who deletes a Tenant cannot record another user as the deleter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import kind_of
from tenancy.base.labels import DELETER_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.history.deleted_tenant import deleter_annotation
from tests.admission.people import Person, denied_by
from tests.platform import Platform, tenant_manifest

NAME = "named-deleter"


@pytest.fixture(params=GROUPS)
def paused(request: pytest.FixtureRequest, platform: Platform) -> Iterator[Manifest]:
    """A paused Tenant. The watcher has created no objects for it."""
    manifest = tenant_manifest(NAME, request.param, paused=True)
    platform.apply(manifest)
    platform.await_condition(manifest, "Paused")
    yield platform.tenant(manifest) or {}
    platform.delete(manifest)
    platform.await_gone(manifest)


def annotate(cluster: Cluster, tenant: Manifest, value: str) -> Manifest:
    change = {"metadata": {"annotations": {DELETER_ANNOTATION: value}}}
    return cluster.patch(kind_of(tenant), NAME, change)


@pytest.mark.usefixtures("people")
def test_deleter_must_be_the_sender_of_the_request(platform: Platform, paused: Manifest) -> None:
    alice, bob = (
        Person.named(Path(platform.admin_kubeconfig), name, "system:masters") for name in ("alice", "bob")
    )
    annotation = deleter_annotation(paused, "alice")
    refusal = rf"{denied_by('deleter')}.*must name the sender of the request, bob"
    with pytest.raises(ClusterError, match=refusal):
        annotate(bob, paused, annotation)
    annotate(alice, paused, annotation)
    # Another user can still change the Tenant. An annotation with the UID of another Tenant names no deleter.
    bob.patch(kind_of(paused), NAME, {"metadata": {"labels": {"by": "bob"}}})
    annotate(bob, paused, deleter_annotation({"metadata": {"uid": "another"}}, "alice"))
