"""The watcher records each version of a spec, even if the spec changes often between two reconciles."""

from tenancy.base.manifest import Manifest
from tenancy.history.spec_changes import changes_in
from watcher.reconciler.seen_specs import SeenSpecs


def tenant(generation: int, uid: str = "u-1", manager: str = "kubectl") -> Manifest:
    fields = [{"manager": manager, "time": "2026-01-31T12:00:00Z", "fieldsV1": {"f:spec": {"f:plan": {}}}}]
    metadata = {"name": "acme", "uid": uid, "generation": generation, "managedFields": fields}
    return {"metadata": metadata, "spec": {"plan": f"p{generation}"}}


def noted(seen: SeenSpecs, manifest: Manifest) -> list[tuple[int, str]]:
    changes = changes_in(seen.noted(manifest)["status"])
    return [(change.generation, change.manager) for change in changes]


def test_each_version_is_noted_with_its_writer() -> None:
    seen = SeenSpecs()
    versions = [tenant(1, manager="one"), tenant(2, manager="two"), tenant(3, manager="three")]
    for before, after in zip([None, *versions], versions, strict=False):
        seen.notice(before, after)
    # A change of the status does not change the generation.
    seen.notice(versions[2], {**versions[2], "status": {"phase": "Active"}})
    assert noted(seen, versions[2]) == [(1, "one"), (2, "two"), (3, "three")]
    # The versions are not in the Tenant's status yet, so the next reconcile records them again.
    assert noted(seen, versions[2]) == [(1, "one"), (2, "two"), (3, "three")]
    # If a reconcile reads an older Tenant, the newer version is recorded later.
    assert noted(seen, versions[1]) == [(1, "one"), (2, "two")]


def test_written_and_forgotten_versions_are_not_noted_again() -> None:
    seen = SeenSpecs()
    seen.notice(None, tenant(1))
    written = seen.noted(tenant(1))
    assert seen.noted(written) == written
    seen.notice(None, tenant(1, uid="u-2", manager="other"))
    seen.notice(tenant(1, uid="u-2"), None)
    assert noted(seen, tenant(2, uid="u-2")) == [(2, "kubectl")]
