"""Without the CRD of AISessions, the watcher reconciles tenants. When the CRD exists, sessions run."""

from pathlib import Path

from cluster.served_kinds import is_served
from tenancy.base.kinds import AISESSION, CRD
from tenancy.spec.crd import aisession_crd
from tests.platform import NewTenant, Platform
from tests.sessions.sessions import sessions_of, start_watcher
from tests.waiting import eventually


def test_tenants_are_reconciled_without_the_crd_of_sessions(
    platform: Platform, new_tenant: NewTenant, plans_file: Path
) -> None:
    platform.stop()
    crd = aisession_crd()
    platform.admin.delete(CRD, crd["metadata"]["name"])
    eventually(lambda: not is_served(platform.admin, AISESSION), "AISessions are not served")
    try:
        start_watcher(platform, plans_file)
        message = "cannot start AISessions: not listed yet: aisessions of platform.ai/v1"
        eventually(
            lambda: platform.http_get("/readyz") == (200, f"ok\n{message}\n"),
            "/readyz reports that sessions are not listed",
        )
        new_tenant("early")
    finally:
        platform.admin.apply(crd)
    eventually(lambda: is_served(platform.admin, AISESSION), "AISessions are served")
    sessions = sessions_of(platform, "early")
    sessions.create("first")
    sessions.await_phase("first", "Completed")
    assert platform.http_get("/readyz") == (200, "ok\n")
