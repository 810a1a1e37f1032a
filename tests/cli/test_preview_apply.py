"""The watcher makes exactly the changes that a preview shows, and the preview itself changes nothing."""

from pathlib import Path
from typing import Any

from stacks.project import RECORD_KEY
from tenancy.base.manifest import Manifest
from tenancy.changes import UpdateRecord
from tests.cli.previews import Previews, only_tenant, previews_fixture  # noqa: F401 - fixtures
from tests.platform import NewTenant, Platform

_TWO = [{"name": "dev"}, {"name": "prod"}]
_THREE = [*_TWO[:1], {"name": "test"}, {"name": "qa"}]


def previewed_changes(preview: dict[str, Any]) -> set[tuple[str, ...]]:
    return {
        (change["operation"], change["kind"], change["namespace"], change["name"])
        for change in only_tenant(preview)["changes"]
    }


def recorded_changes(platform: Platform, tenant: str) -> set[tuple[str, ...]]:
    """The changes that the update record of the newest update contains."""
    text = platform.history(tenant)[0]["config"][RECORD_KEY]["value"]
    record = UpdateRecord.model_validate_json(text)
    return {(change.operation.value, *change.key) for change in record.changes}


def without_status(manifest: Manifest | None) -> Manifest:
    """The object without its status. Controllers and the watcher can change the status at any time."""
    assert manifest is not None
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "resourceVersion"}
    metadata["managedFields"] = [
        entry for entry in metadata.get("managedFields", []) if entry.get("subresource") != "status"
    ]
    return {key: value for key, value in manifest.items() if key != "status"} | {"metadata": metadata}


def traces(platform: Platform, tenant: Manifest) -> tuple[Any, ...]:
    """The Tenant, its objects and its state files. A write or a lock would change some of them."""
    name = tenant["metadata"]["name"]
    objects = {key: without_status(manifest) for key, manifest in platform.objects(name).items()}
    live_tenant = without_status(platform.tenant(tenant))
    files = [file for file in (platform.folder / "state").rglob("*") if name in str(file) and file.is_file()]
    return objects, live_tenant, {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def test_the_watcher_does_what_the_preview_said(
    platform: Platform, new_tenant: NewTenant, previews: Previews
) -> None:
    first: dict[str, Any] = {"namespaces": _TWO}
    second: dict[str, Any] = {"namespaces": _THREE, "plan": "pro", "adminUsers": ["alice"]}
    previews.write("foretold", **first)
    promised = previewed_changes(previews.json())
    assert {operation for operation, *_ in promised} == {"create"}
    platform.await_active(new_tenant("foretold", **first))
    assert recorded_changes(platform, "foretold") == promised
    assert previews.json(exit_code=0)["counts"]["unchanged"] == 1

    previews.write("foretold", **second)
    promised = previewed_changes(previews.json())
    assert {operation for operation, *_ in promised} == {"create", "update", "delete"}
    platform.await_active(new_tenant("foretold", **second))
    assert recorded_changes(platform, "foretold") == promised
    previews.json(exit_code=0)


def test_a_preview_writes_nothing_and_takes_no_lock(
    platform: Platform, new_tenant: NewTenant, previews: Previews
) -> None:
    tenant = new_tenant("untouched", namespaces=_TWO)
    platform.await_active(tenant)
    before = traces(platform, tenant)
    assert any("untouched" in Path(file).name for file in before[2])
    previews.write("untouched", namespaces=_TWO[:1], plan="pro", displayName="Changed")
    preview = previews.json()
    assert only_tenant(preview)["outcome"] == "changed"
    assert traces(platform, tenant) == before

    # A Tenant that is in no file is deleted only with --prune.
    previews.write("untouched").unlink()
    previews.write("another")
    assert "untouched" not in {tenant["name"] for tenant in previews.json()["tenants"]}
    pruned = {preview["name"]: preview for preview in previews.json("tenants", "--prune")["tenants"]}
    assert pruned["untouched"]["outcome"] == "deleted"
    assert [finding["rule"] for finding in pruned["untouched"]["findings"]] == ["tenant-deleted"]
    assert traces(platform, tenant) == before
