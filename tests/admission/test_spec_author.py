"""Nobody can name another user as the author of a Tenant's spec."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import kind_of
from tenancy.base.labels import SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.spec_author import author_annotation
from tests.admission.people import Person, denied_by
from tests.platform import Platform, tenant_manifest

NAME = "authored"
REMOVE = "remove this annotation from the manifest, for example before you restore a backup"


@pytest.fixture(params=GROUPS)
def paused(request: pytest.FixtureRequest, platform: Platform) -> Iterator[Manifest]:
    """A Tenant without objects and without an author: it was created with `kubectl apply`."""
    manifest = tenant_manifest(NAME, request.param, paused=True)
    platform.apply(manifest)
    platform.await_condition(manifest, "Paused")
    yield manifest
    platform.delete(manifest)
    platform.await_gone(manifest)


def person(platform: Platform, name: str) -> Cluster:
    return Person.named(Path(platform.admin_kubeconfig), name, "system:masters")


def patch(
    cluster: Cluster, tenant: Manifest, author: str | None, *, is_dry_run: bool = False, **spec: object
) -> Manifest:
    change = {"metadata": {"annotations": {SPEC_AUTHOR_ANNOTATION: author}}, "spec": spec}
    return cluster.patch(kind_of(tenant), NAME, change, is_dry_run=is_dry_run)


@pytest.mark.usefixtures("people")
def test_author_must_be_the_sender_of_the_request(platform: Platform, paused: Manifest) -> None:
    alice, bob = person(platform, "alice"), person(platform, "bob")
    predicted = patch(alice, paused, None, is_dry_run=True, displayName="A")
    annotation = author_annotation(predicted, "alice", "why: so")
    refusal = rf"{denied_by('spec-author')}.*names alice as the author of this spec.*from bob; {REMOVE}"
    with pytest.raises(ClusterError, match=refusal):
        patch(bob, paused, annotation, displayName="A")
    # An annotation for the next generation is allowed, but then only its user can write this generation.
    patch(bob, paused, annotation)
    with pytest.raises(ClusterError, match=refusal):
        bob.patch(kind_of(paused), NAME, {"spec": {"displayName": "A"}})
    alice.patch(kind_of(paused), NAME, {"spec": {"displayName": "A"}})

    # After the write, others can change labels, and can write the next generation without the annotation.
    bob.patch(kind_of(paused), NAME, {"metadata": {"labels": {"by": "bob"}}})
    written = bob.patch(kind_of(paused), NAME, {"spec": {"displayName": "B"}})
    # Nobody can claim a generation that somebody else has written.
    with pytest.raises(ClusterError, match="another request has written this spec"):
        patch(alice, paused, author_annotation(written, "alice"))


@pytest.mark.usefixtures("people")
def test_backup_is_restored_unless_it_names_the_author_of_generation_one(platform: Platform) -> None:
    alice, bob = person(platform, "alice"), person(platform, "bob")
    manifest = tenant_manifest("restored-backup", paused=True)
    predicted = alice.apply(manifest, is_dry_run=True)
    for generation, is_refused in ((1, True), (2, False)):
        predicted["metadata"]["generation"] = generation
        author = {SPEC_AUTHOR_ANNOTATION: author_annotation(predicted, "alice")}
        backup = {**manifest, "metadata": {**manifest["metadata"], "annotations": author}}
        assert alice.apply(backup, is_dry_run=True)["metadata"]["annotations"] == author
        if is_refused:
            with pytest.raises(ClusterError, match=REMOVE):
                bob.apply(backup, is_dry_run=True)
        else:
            assert bob.apply(backup, is_dry_run=True)["metadata"]["annotations"] == author
