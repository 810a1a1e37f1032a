"""The API server accepts an AISession only if `tenantRef` is the tenant that owns the session's namespace."""

import pytest

from tenancy.base.kinds import AISESSION, Kind
from tenancy.base.manifest import Manifest
from tests.platform import Platform
from tests.sessions.sessions import Sessions, refusal
from tests.waiting import eventually

BINDING = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    False,
)
POLICY = "tenancy-sessions"


@pytest.fixture(autouse=True)
def policy_in_force(platform: Platform, shared_sessions: Sessions) -> None:
    stray = Sessions(platform, shared_sessions.tenant, "default")

    def is_refused() -> bool:
        if refusal(stray, "probe"):
            return True
        stray.delete("probe")
        return False

    eventually(is_refused, "the policy is in force")


def test_session_names_the_tenant_of_its_namespace(platform: Platform, sessions: Sessions) -> None:
    message = refusal(Sessions(platform, "other", sessions.namespace), "foreign")
    assert POLICY in message
    assert "namespace tenant-home belongs to tenant home, but spec.tenantRef names tenant other" in message
    sessions.create("own")
    sessions.await_phase("own", "Completed")


def test_namespace_of_no_tenant_has_no_sessions(platform: Platform, sessions: Sessions) -> None:
    message = refusal(Sessions(platform, sessions.tenant, "default"), "stray")
    assert "namespace default belongs to no tenant" in message


@pytest.mark.parametrize(("tenant", "namespace"), [("other", "tenant-home"), ("home", "default")])
def test_session_that_slipped_in_fails(
    tenant: str, namespace: str, platform: Platform, sessions: Sessions
) -> None:
    binding = platform.admin.get(BINDING, POLICY)
    assert binding is not None
    platform.admin.delete(BINDING, POLICY)
    stray = Sessions(platform, tenant, namespace)
    assert sessions.namespace == "tenant-home"

    def final_status() -> Manifest | None:
        status = stray.status("slipped")
        return status if status.get("phase", "Pending") != "Pending" else None

    try:
        eventually(lambda: not refusal(stray, "slipped"), "the policy is no longer enforced")
        status = eventually(final_status, "the watcher has reconciled the session")
        assert (status["phase"], status.get("reason")) == ("Failed", "ForeignNamespace")
        assert f"namespace {namespace} does not belong to tenant {tenant}" in status["message"]
        assert stray.job("slipped") is None
    finally:
        platform.admin.delete(AISESSION, "slipped", namespace)
        metadata = {"name": POLICY}
        platform.admin.create(BINDING, {**binding, "metadata": metadata})
