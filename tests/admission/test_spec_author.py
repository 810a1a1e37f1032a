"""A user who writes a Tenant's spec cannot record another user as the author."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.admission.spec_author import spec_author_policies
from tenancy.base.kinds import kind_of
from tenancy.base.labels import SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.history.spec_author import author_annotation, spec_author
from tests.admission.people import Person, denied_by
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

NAME = "authored"
(BINDING,) = (each for each in spec_author_policies() if each["kind"].endswith("Binding"))
REMOVE = "remove this annotation from the manifest, for example before you restore a backup"


@pytest.fixture(params=GROUPS)
def paused(request: pytest.FixtureRequest, platform: Platform) -> Iterator[Manifest]:
    """A paused Tenant without an author annotation, as `kubectl apply` creates it. It has no objects."""
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
    patch(alice, paused, annotation, displayName="A")

    # Afterwards, another user can change labels, and can write the next generation without the annotation.
    bob.patch(kind_of(paused), NAME, {"metadata": {"labels": {"by": "bob"}}})
    written = bob.patch(kind_of(paused), NAME, {"spec": {"displayName": "B"}})
    # Nobody can claim to be the author of a generation that another user has written.
    with pytest.raises(ClusterError, match="another request has written this spec"):
        patch(alice, paused, author_annotation(written, "alice"))


@pytest.mark.usefixtures("people")
def test_nobody_can_name_an_author_in_advance(platform: Platform, paused: Manifest) -> None:
    bob, kind = person(platform, "bob"), kind_of(paused)
    next_version = patch(bob, paused, None, is_dry_run=True, displayName="A")
    later_version = {**next_version, "metadata": {**next_version["metadata"], "generation": 99}}
    refusal = rf"{denied_by('spec-author')}.*is for generation \d+, but the request leads to generation \d+"
    for user, version in (("alice", next_version), ("bob", next_version), ("alice", later_version)):
        annotation = author_annotation(version, user)
        # First, send the annotation alone. For generation 99, also send it together with a change of the
        # spec, which leads to an earlier generation.
        with pytest.raises(ClusterError, match=refusal):
            patch(bob, paused, annotation)
        if version is later_version:
            with pytest.raises(ClusterError, match=refusal):
                patch(bob, paused, annotation, displayName="B")

    # An annotation with the correct generation in another notation names no author.
    generation, separator, rest = author_annotation(next_version, "alice").partition(":")
    for notation in (f"0{generation}", f"+{generation}", f"{generation} ", "٢", "9" * 40):
        written = patch(bob, paused, f"{notation}{separator}{rest}", displayName="A", is_dry_run=True)
        assert written["metadata"]["generation"] == int(generation)
        assert spec_author(written) is None

    # A request that writes the status cannot change annotations.
    forged = {"metadata": {"annotations": {SPEC_AUTHOR_ANNOTATION: author_annotation(next_version, "alice")}}}
    written = bob.patch(kind, NAME, forged, subresource="status")
    assert SPEC_AUTHOR_ANNOTATION not in (written["metadata"].get("annotations") or {})


def is_accepted(cluster: Cluster, tenant: Manifest, author: str) -> bool:
    """Whether the API server accepts a request that changes only the annotation, and not the spec."""
    try:
        patch(cluster, tenant, author, is_dry_run=True)
    except ClusterError:
        return False
    return True


@pytest.mark.usefixtures("people")
def test_annotation_does_not_reject_requests_that_leave_it_unchanged(
    platform: Platform, paused: Manifest
) -> None:
    alice, bob, kind = person(platform, "alice"), person(platform, "bob"), kind_of(paused)
    # `bob` writes the annotation for the next generation while the policy is not installed.
    predicted = patch(bob, paused, None, is_dry_run=True, displayName="A")
    annotation, other = author_annotation(predicted, "alice"), author_annotation(predicted, "carol")
    platform.admin.delete(kind_of(BINDING), BINDING["metadata"]["name"])
    try:
        eventually(lambda: is_accepted(bob, paused, annotation), "the policy is not in force")
        planted = patch(bob, paused, annotation)
    finally:
        platform.apply(BINDING)
    eventually(lambda: not is_accepted(bob, paused, other), "the policy is in force again")
    written = bob.patch(kind, NAME, {"spec": {"displayName": "A"}})
    assert written["metadata"]["generation"] == predicted["metadata"]["generation"]
    # The annotation names no author, because it is older than the change of the spec.
    assert spec_author(written, planted) is None
    alice.patch(kind, NAME, {"spec": {"displayName": "B"}})


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
