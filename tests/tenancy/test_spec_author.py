"""The author annotation is valid only for one Tenant, one generation and one spec."""

from typing import Any

import pytest

from tenancy.base.labels import SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.history.spec_author import author_annotation, author_text, spec_author, spec_change
from tenancy.spec.tenant_status import SpecChange

NOW = "2026-01-31T12:00:00Z"


def tenant(generation: int = 2, annotations: dict[str, str] | None = None, **metadata: Any) -> Manifest:
    fields = {"uid": "u-1", "generation": generation, "annotations": annotations or {}, **metadata}
    return {"metadata": {"name": "acme", **fields}, "spec": {"plan": "pro", "adminUsers": ["eve"]}}


def signed(annotation: str, generation: int = 2, **metadata: Any) -> Manifest:
    return tenant(generation, {SPEC_AUTHOR_ANNOTATION: annotation}, **metadata)


@pytest.mark.parametrize("user", ["alice", "system:serviceaccount:ci:deployer", "https://id.example#a b"])
@pytest.mark.parametrize("message", ["", "raise: the quota", "two\nlines"])
@pytest.mark.parametrize("generation", [1, 7])
def test_annotation_reads_back_as_it_was_written(user: str, message: str, generation: int) -> None:
    author = spec_author(signed(author_annotation(tenant(generation), user, message), generation))
    assert author is not None
    assert (author.user, author.message) == (user, message)


def test_annotation_of_another_generation_tenant_or_spec_does_not_count() -> None:
    annotation = author_annotation(tenant(), "alice")
    assert spec_author(signed(annotation)) is not None
    assert spec_author(signed(annotation, generation=3)) is None
    assert spec_author(signed(annotation, uid="u-2")) is None
    assert spec_author({**signed(annotation), "spec": {"plan": "basic"}}) is None
    # The annotation of a new Tenant contains no UID. It must not be valid for a later generation.
    assert spec_author(signed(author_annotation(tenant(1), "alice").replace("1:", "2:", 1))) is None


def test_annotation_of_the_mutating_policy_needs_no_hash() -> None:
    author = spec_author(signed("2:u-1:-:bob"))
    assert author is not None
    assert author.user == "bob"


@pytest.mark.parametrize(
    "value", ["", "2", "2:u-1:-", "x:u-1:-:bob", "::::", "-2:u-1:-:bob", "02:u-1:-:bob", "٢:u-1:-:bob"]
)
def test_malformed_annotation_does_not_count(value: str) -> None:
    assert spec_author(signed(value)) is None


def test_annotation_of_the_version_before_the_change_does_not_count() -> None:
    annotation = author_annotation(tenant(), "alice")
    assert spec_author(signed(annotation), signed(annotation, generation=1)) is None
    assert spec_author(signed(annotation), tenant(1)) is not None


def test_user_name_with_a_line_break_is_not_written() -> None:
    assert author_annotation(tenant(), "al\nice") == ""
    assert author_annotation(tenant(), "") == ""


def managed(*managers: tuple[str, str]) -> list[Manifest]:
    return [{"manager": name, "time": time, "fieldsV1": {"f:spec": {}}} for name, time in managers]


def test_change_without_an_annotation_has_the_newest_field_manager() -> None:
    fields = managed(("kubectl", "2026-01-31T11:00:00Z"), ("argocd", "2026-01-31T11:30:00Z"))
    change = spec_change(tenant(managedFields=fields), None, NOW)
    assert (change.user, change.manager, change.time) == ("", "argocd", "2026-01-31T11:30:00Z")
    assert author_text(change) == "unknown, via manager argocd"
    assert author_text(spec_change(tenant(), None, NOW)) == "unknown"


def test_commit_counts_only_if_it_is_new() -> None:
    commit = {"platform.ai/change-commit": "abc", "platform.ai/change-author": "ann"}
    first = spec_change(tenant(2, commit, managedFields=managed(("argocd", NOW))), None, NOW)
    assert author_text(first) == "ann (according to the commit), applied via manager argocd"
    assert first.commit == "abc"
    # A user edits the spec. The annotations about the commit stay.
    edited = spec_change(tenant(3, commit, managedFields=managed(("kubectl-edit", NOW))), first, NOW)
    assert (author_text(edited), edited.commit) == ("unknown, via manager kubectl-edit", "")
    next_commit = {**commit, "platform.ai/change-commit": "def"}
    assert spec_change(tenant(4, next_commit), edited, NOW).commit == "def"


def test_commit_author_and_the_checked_user_are_both_shown() -> None:
    change = SpecChange(generation=1, time=NOW, user="ci", commit_author="ann")
    assert author_text(change) == "ann (according to the commit), applied by ci"


def test_message_of_the_command_precedes_the_message_of_the_commit() -> None:
    annotations = {
        SPEC_AUTHOR_ANNOTATION: author_annotation(tenant(), "alice", "by command"),
        "platform.ai/change-message": "by commit",
    }
    assert spec_change(tenant(2, annotations), None, NOW).message == "by command"
    del annotations[SPEC_AUTHOR_ANNOTATION]
    assert spec_change(tenant(2, annotations), None, NOW).message == "by commit"
