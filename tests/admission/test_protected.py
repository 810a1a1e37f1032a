"""Nobody can delete a Tenant while its `spec.protected` is true."""

from collections.abc import Iterator

import pytest

from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tests.admission.people import Attempt, Person, denied_by
from tests.platform import Platform, tenant_manifest


@pytest.fixture(params=GROUPS)
def rejected(request: pytest.FixtureRequest, platform: Platform) -> Iterator[Manifest]:
    """A Tenant with an unknown plan. The watcher has created no objects for it."""
    manifest = tenant_manifest("keep", request.param, plan="nosuchplan")
    platform.apply(manifest)
    platform.await_condition(manifest, "UnknownPlan")
    yield manifest
    platform.delete(manifest)
    platform.await_gone(manifest)


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("in_spec", "in_status", "is_protected"),
    [
        pytest.param(True, None, True, id="by its spec"),
        pytest.param(None, True, True, id="by its plan"),
        pytest.param(False, True, False, id="by its plan, but not by its spec"),
        pytest.param(None, False, False, id="by nothing"),
    ],
)
def test_protected_tenant_cannot_be_deleted(
    in_spec: bool | None,
    in_status: bool | None,
    is_protected: bool,
    rejected: Manifest,
    platform: Platform,
    administrator: Person,
) -> None:
    kind = kind_of(rejected)
    platform.admin.patch(kind, "keep", {"spec": {"protected": in_spec}})
    platform.admin.patch(kind, "keep", {"status": {"protected": in_status}}, subresource="status")
    refusal = administrator.refusal(Attempt("DELETE", kind.path(name="keep")))
    platform.admin.patch(kind, "keep", {"spec": {"protected": False}})
    assert (denied_by("protected") in refusal) == is_protected
    assert ("set spec.protected: false first" in refusal) == is_protected
