"""A changed spec changes only the objects that depend on the changed fields."""

from tests.platform import NewTenant, Platform


def test_plan_update_changes_quotas_in_place(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("grows", plan="basic", adminUsers=["alice"])
    platform.await_active(manifest)
    before = platform.objects("grows")

    platform.apply({**manifest, "spec": {**manifest["spec"], "plan": "pro"}})
    tenant = platform.await_active(manifest)

    after = platform.objects("grows")
    assert after.keys() == before.keys()
    assert all(after[key]["metadata"]["uid"] == before[key]["metadata"]["uid"] for key in after)
    changed = {key for key in after if _content(after[key]) != _content(before[key])}
    # The plan sets the quotas and the container limits. A label of the namespace contains the plan's name.
    assert {kind for kind, _, _ in changed} == {"ResourceQuota", "LimitRange", "Namespace"}
    assert after["ResourceQuota", "tenant-grows", "tenant-quota"]["spec"]["hard"]["cpu"] == "4"
    labels = after["Namespace", "", "tenant-grows"]["metadata"]["labels"]
    assert {
        label
        for label, value in labels.items()
        if before["Namespace", "", "tenant-grows"]["metadata"]["labels"][label] != value
    } == {"kleff.io/tenant-plan"}
    assert tenant["status"]["lastUpdate"]["resourceChanges"].keys() == {"same", "update"}


def test_adding_and_removing_a_namespace_changes_no_other(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("moves", namespaces=[{"name": "a"}, {"name": "b"}])
    platform.await_active(manifest)
    kept = {key: item for key, item in platform.objects("moves").items() if "tenant-moves-a" in key}

    platform.apply({**manifest, "spec": {"namespaces": [{"name": "a"}, {"name": "c"}]}})
    tenant = platform.await_active(manifest)

    assert tenant["status"]["namespaceStatus"].keys() == {"tenant-moves-a", "tenant-moves-c"}
    after = platform.objects("moves")
    assert {key: _content(after[key]) for key in kept} == {key: _content(item) for key, item in kept.items()}
    removed = platform.namespace("tenant-moves-b")
    assert removed is None or "deletionTimestamp" in removed["metadata"]


def test_admin_removed_from_the_spec_is_removed_from_the_binding(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("leaves", adminUsers=["alice", "bob"])
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"adminUsers": ["bob"]}})
    platform.await_active(manifest)
    binding = platform.objects("leaves")["RoleBinding", "tenant-leaves", "tenant-admin"]
    assert [subject["name"] for subject in binding["subjects"]] == ["bob"]
    # After the last admin is removed, the list of subjects is empty. Pulumi alone does not send an empty
    # list.
    platform.apply({**manifest, "spec": {}})
    platform.await_active(manifest)
    binding = platform.objects("leaves")["RoleBinding", "tenant-leaves", "tenant-admin"]
    assert not binding.get("subjects")


def test_display_name_updates_only_its_annotation(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("renamed", plan="basic")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "basic", "displayName": "Renamed"}})
    tenant = platform.await_active(manifest)
    assert tenant["status"]["lastUpdate"]["resourceChanges"]["update"] == 1


def _content(manifest: dict[str, object]) -> dict[str, object]:
    """The object without its status and without the metadata that the API server sets."""
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    user_metadata = {field: metadata.get(field) for field in ("labels", "annotations", "name")}
    return {**manifest, "metadata": user_metadata, "status": None}
