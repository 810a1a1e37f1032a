"""The subjects that were removed from a spec."""

import pytest

from tenancy.base.manifest import Manifest, Objects, object_key
from tenancy.objects.subjects import Subject, removed_subjects, spec_subjects
from tenancy.spec.tenant import tenant_from_manifest

ALICE, OPS = Subject("User", "alice"), Subject("Group", "ops")
EACH, CI = Subject("ServiceAccount", "robot"), Subject("ServiceAccount", "runner", "ci")
NAMESPACES = ("tenant-a-dev", "tenant-a-prod")


def stored(*subjects: Subject) -> Manifest:
    return {
        "status": {
            "subjects": [{key: value for key, value in each._asdict().items() if value} for each in subjects]
        }
    }


@pytest.mark.parametrize(
    ("before", "after", "removed"),
    [
        ((ALICE, OPS), (OPS,), {ALICE}),
        ((ALICE, OPS), (ALICE, OPS), set()),
        ((CI,), (), {CI}),
        # A subject of kind ServiceAccount without a namespace means one ServiceAccount in each namespace of
        # the tenant.
        ((EACH,), (), {EACH._replace(namespace=name) for name in NAMESPACES}),
        ((EACH,), (EACH._replace(namespace="tenant-a-dev"),), {EACH._replace(namespace="tenant-a-prod")}),
        # A user name can identify a ServiceAccount.
        ((Subject("User", "system:serviceaccount:ci:runner"),), (CI,), set()),
    ],
)
def test_removed_subjects_are_those_of_the_last_spec_that_are_gone(
    before: tuple[Subject, ...], after: tuple[Subject, ...], removed: set[Subject]
) -> None:
    assert removed_subjects(stored(*before), after, NAMESPACES, {}) == removed


def test_live_role_bindings_replace_a_status_without_subjects() -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "tenant-admin", "namespace": "tenant-a-dev"},
        "subjects": [{"kind": "User", "name": "alice"}],
    }
    live: Objects = {object_key(binding): binding}
    assert removed_subjects({"status": {}}, (), NAMESPACES, live) == {ALICE}
    assert removed_subjects(stored(), (), NAMESPACES, live) == set()


def test_change_of_a_role_removes_no_subject() -> None:
    def subjects(**spec: object) -> tuple[Subject, ...]:
        return spec_subjects(tenant_from_manifest({"metadata": {"name": "a"}, "spec": spec}))

    viewer = {"kind": "User", "name": "alice", "role": "viewer"}
    assert subjects(adminUsers=["alice"]) == subjects(access=[viewer]) == (ALICE,)
