"""`tenancy history` shows the history of a deleted tenant, and `tenancy rollback` restores the tenant."""

import json
from collections.abc import Iterator

import pytest
import yaml

from tests.cli.conftest import Run
from tests.cli.generations import live
from tests.platform import Platform, tenant_manifest

NAME = "bygone"
MANIFEST = tenant_manifest(NAME, displayName="first")
MANIFEST["metadata"]["labels"] = {"team": "past"}


@pytest.fixture(scope="module")
def uid(running_platform: Platform) -> Iterator[str]:
    """The UID of a tenant with two updates. The test deletes this tenant."""
    platform = running_platform
    platform.ensure_started()
    platform.apply(MANIFEST)
    platform.await_active(MANIFEST)
    platform.apply({**MANIFEST, "spec": {"displayName": "second"}})
    yield platform.await_active(MANIFEST)["metadata"]["uid"]
    platform.delete(MANIFEST)
    platform.await_gone(MANIFEST)


def test_deleted_tenant_is_shown_and_restored(platform: Platform, tenancy: Run, uid: str) -> None:
    missing = tenancy("rollback", "never-was", "--yes")
    assert (missing.returncode, "there is no tenant 'never-was'" in missing.stderr) == (1, True)
    result = tenancy("--as", "carol", "--as-group", "system:masters", "delete", NAME, "--yes")
    assert result.returncode == 0, result.stderr

    history = tenancy("history", NAME)
    assert history.returncode == 0, history.stderr
    assert history.stderr.startswith("bygone was deleted by carol, ")
    assert [line.split()[0] for line in history.stdout.splitlines()[1:]] == ["2", "1"]
    (deleted,) = (
        each
        for each in json.loads(tenancy("history", "--deleted", "-o", "json").stdout)
        if each["uid"] == uid
    )
    assert (deleted["name"], deleted["deletedBy"], deleted["spec"]["displayName"]) == (
        NAME,
        "carol",
        "second",
    )
    assert [entry["version"] for entry in deleted["history"]] == [2, 1]
    assert uid in tenancy("history", NAME, "--deleted").stdout
    # A user without the right to read Tenants cannot read the history.
    assert tenancy("--as", "nobody", "history", NAME).returncode == 1
    assert tenancy("--as", "nobody", "history", "--deleted").returncode == 1

    printed = yaml.safe_load(tenancy("rollback", NAME, "--to", "1", "-o", "yaml").stdout)
    assert printed["spec"] == {"plan": "basic", "displayName": "first"}
    assert printed["metadata"] == {"name": NAME, "labels": {"team": "past"}}
    assert tenancy("rollback", NAME, "--dry-run").returncode == 2
    assert platform.tenant(MANIFEST) is None
    restored = tenancy("rollback", NAME, "--yes", "-m", "deleted by mistake")
    assert restored.returncode == 0, restored.stderr
    assert restored.stdout.endswith("bygone exists again with its last spec.\n")
    tenant = live(platform, MANIFEST)
    assert tenant["spec"]["displayName"] == "second"
    assert tenant["metadata"]["uid"] != uid
    (entry,) = json.loads(tenancy("history", NAME, "-o", "json").stdout)
    assert (entry["version"], entry["message"]) == (1, "deleted by mistake")
