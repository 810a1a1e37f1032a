"""A file backend stores the histories of deleted tenants."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from stacks.cli import PulumiCli
from stacks.command import PulumiProcess
from stacks.histories import Histories
from stacks.history import updates_from_entries
from stacks.storage.deleted_tenants import DeletedTenants
from stacks.storage.objects import FileObjects
from tenancy.base.labels import DELETER_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.history.deleted_tenant import deleted_tenant, deleter_annotation

DELETED_AT = "2026-05-01T12:00:00Z"


def tenant(name: str = "acme", uid: str = "uid-1", user: str = "", **spec: Any) -> Manifest:
    metadata: Manifest = {"name": name, "uid": uid, "deletionTimestamp": DELETED_AT, "resourceVersion": "7"}
    manifest = {"apiVersion": "platform.ai/v1", "kind": "Tenant", "metadata": metadata, "spec": spec}
    if user:
        metadata["annotations"] = {DELETER_ANNOTATION: deleter_annotation(manifest, user)}
    return manifest


def stack_with_update(backend: Path) -> list[Path]:
    """Create the files of a stack with one update."""
    stack = backend / ".pulumi" / "stacks" / "tenancy" / "tenant-acme.json.gz"
    update = backend / ".pulumi" / "history" / "tenancy" / "tenant-acme" / "tenant-acme-1.history.json"
    for file in (stack, update):
        file.parent.mkdir(parents=True)
    stack.touch()
    record = {"kind": "update", "startTime": 1, "result": "succeeded", "message": "spec generation 1"}
    update.write_text(json.dumps(record))
    return [stack, update]


def histories(backend: Path) -> Histories:
    """The histories of a file backend.

    There is no Pulumi command, because a file backend is read without Pulumi.
    """
    url, command = f"file://{backend}", cast(PulumiProcess, None)
    cli = PulumiCli(url, backend / "none", command, {})
    return Histories(FileObjects(backend), backend / "none", {}, command, cli)


def test_history_survives_a_crash_after_the_stack_is_destroyed(tmp_path: Path) -> None:
    files = stack_with_update(tmp_path)
    stored = histories(tmp_path)
    stored.keep_deleted(tenant(user="alice", plan="pro"))
    for file in files:
        file.unlink()
    histories(tmp_path).keep_deleted(tenant(user="alice", plan="pro"))
    (deleted,) = stored.deleted.list()
    assert (deleted.name, deleted.deleted_by, deleted.manifest["spec"]) == ("acme", "alice", {"plan": "pro"})
    assert deleted.deleted_at.isoformat() == "2026-05-01T12:00:00+00:00"
    assert [update.cause for update in updates_from_entries(deleted.updates)] == ["spec generation 1"]
    assert [file.name for file in (tmp_path / "deleted-tenants").iterdir()] == ["uid-1.json"]


def test_damaged_history_does_not_block_the_deletion(tmp_path: Path) -> None:
    _, update = stack_with_update(tmp_path)
    update.write_text("{")
    stored = histories(tmp_path)
    stored.keep_deleted(tenant(plan="pro"))
    assert [(each.manifest["spec"], each.updates) for each in stored.deleted.list()] == [
        ({"plan": "pro"}, ())
    ]


def test_history_that_can_no_longer_be_read_stays_stored(tmp_path: Path) -> None:
    _, update = stack_with_update(tmp_path)
    stored = histories(tmp_path)
    stored.keep_deleted(tenant(plan="pro"))
    update.write_text("{")
    stored.keep_deleted(tenant(plan="pro"))
    assert stored.deleted is not None
    (deleted,) = stored.deleted.list()
    assert [update.cause for update in updates_from_entries(deleted.updates)] == ["spec generation 1"]


def test_tenants_of_the_same_name_are_kept_by_uid_until_they_expire(tmp_path: Path) -> None:
    (tmp_path / ".pulumi").mkdir()
    store = DeletedTenants(FileObjects(tmp_path))
    assert store.list() == []
    later = {**tenant(uid="uid-2"), "metadata": {**tenant(uid="uid-2")["metadata"]}}
    later["metadata"]["deletionTimestamp"] = "2026-05-02T12:00:00Z"
    for manifest in (tenant(), later, tenant("other", "uid-3")):
        store.put(deleted_tenant(manifest, []))
    (tmp_path / "deleted-tenants" / "damaged.json").write_text("{")
    assert store.list()[0].uid == "uid-2"
    expired = datetime(2026, 5, 1, 12, tzinfo=UTC) + timedelta(days=30)
    store.remove_expired(expired - timedelta(seconds=1))
    assert {each.uid for each in store.list()} == {"uid-1", "uid-2", "uid-3"}
    store.remove_expired(expired)
    assert {each.uid for each in store.list()} == {"uid-2"}


def test_copied_annotation_names_nobody() -> None:
    copied = tenant(uid="uid-2")
    copied["metadata"]["annotations"] = tenant(uid="uid-1", user="alice")["metadata"]["annotations"]
    assert deleted_tenant(copied, []).deleted_by == ""
