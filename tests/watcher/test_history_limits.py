"""On a real cluster, the watcher prunes histories, and keeps the history of a deleted tenant."""

import json

from tests.cli.conftest import Run
from tests.cli.conftest import tenancy as tenancy
from tests.platform import NewTenant, Platform
from tests.waiting import eventually


def versions(tenancy: Run, tenant: str) -> list[int]:
    updates = json.loads(tenancy("history", tenant, "-o", "json").stdout)
    return [update["version"] for update in updates if update["version"] is not None]


def test_watcher_prunes_a_history_and_rollback_still_uses_the_same_numbers(
    platform: Platform, new_tenant: NewTenant, tenancy: Run
) -> None:
    platform.stop()
    platform.start("--keep-updates", "2")
    manifest = new_tenant("forgetful", displayName="1")
    platform.await_active(manifest)
    for number in (2, 3, 4):
        platform.apply({**manifest, "spec": {"displayName": str(number)}})
        active = platform.await_active(manifest)
    assert active["status"]["lastUpdate"]["version"] == 4
    eventually(lambda: versions(tenancy, "forgetful") == [4, 3], "the history is pruned")
    refused = tenancy("rollback", "forgetful", "--to", "2", "--yes")
    assert refused.returncode == 1
    assert "has no update 2; choose an update (3 to 4)" in refused.stderr
    result = tenancy("rollback", "forgetful", "--to", "3", "--yes")
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("forgetful has the spec of update 3 again; update 5 has applied it.\n")
    assert platform.await_active(manifest)["spec"]["displayName"] == "3"
    platform.stop()
