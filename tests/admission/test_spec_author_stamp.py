"""If the API server supports MutatingAdmissionPolicies, it records the author of every spec."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from embedded.controlplane.plane import ControlPlane
from embedded.run.install_platform import install_platform
from tenancy.base.kinds import TENANTS, Kind
from tenancy.base.labels import SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.history.spec_author import author_annotation, spec_author
from tests.admission.people import Person
from tests.platform import tenant_manifest
from tests.waiting import eventually

FLAGS = (
    "--feature-gates=MutatingAdmissionPolicy=true",
    "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
)


@pytest.fixture(scope="module")
def kubeconfig(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("mutating-plane")
    with ControlPlane(tools, folder, is_throw_away=True, api_server_flags=FLAGS) as plane:
        install_platform(Cluster.connect(plane.kubeconfig))
        yield plane.kubeconfig


def author(tenant: Manifest) -> tuple[str, str]:
    """The author's user name, and the message about the change, both from the Tenant's annotation."""
    found = spec_author(tenant)
    return (found.user, found.message) if found else ("", "")


@pytest.mark.parametrize("kind", TENANTS, ids=lambda kind: kind.group)
def test_every_writer_of_a_spec_is_named(kubeconfig: Path, kind: Kind) -> None:
    alice, bob = (Person.named(kubeconfig, name, "system:masters") for name in ("alice", "bob"))
    manifest = tenant_manifest("stamped", kind.group)

    def is_stamped() -> bool:
        # For some seconds after a CRD is created, the API server cannot evaluate mutating policies for it.
        with suppress(ClusterError):
            return author(bob.apply(manifest, is_dry_run=True)) == ("bob", "")
        return False

    eventually(is_stamped, "the policy is in force")
    assert author(bob.apply(manifest)) == ("bob", "")
    # A change of the spec changes the author. A change of the labels does not.
    labelled = alice.patch(kind, "stamped", {"metadata": {"labels": {"by": "alice"}}})
    assert author(labelled) == ("bob", "")
    changed = alice.patch(kind, "stamped", {"spec": {"displayName": "A"}})
    assert author(changed) == ("alice", "")

    # The policy replaces a forged author. If the author is correct, the policy keeps the message.
    predicted = alice.patch(kind, "stamped", {"spec": {"displayName": "B"}}, is_dry_run=True)
    for user, expected in (("bob", ("alice", "")), ("alice", ("alice", "why"))):
        annotations = {SPEC_AUTHOR_ANNOTATION: author_annotation(predicted, user, "why")}
        change = {"metadata": {"annotations": annotations}, "spec": {"displayName": "B"}}
        assert author(alice.patch(kind, "stamped", change, is_dry_run=True)) == expected
