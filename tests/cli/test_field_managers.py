"""Every write by the watcher and by the commands sets one of tenancy's field managers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cli.apply.field_ownership import APPLY_MANAGER, PAUSE_MANAGER, ROLLBACK_MANAGER
from tenancy.base.kinds import CRD, EVENT, MANAGED_KINDS, NAMESPACE, ROLE, TENANTS
from tenancy.base.labels import MANAGED_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.names import FIELD_MANAGER, WATCHER_FIELD_MANAGER
from tests.cli.applying import named_fixture, write  # noqa: F401 - a fixture
from tests.cli.conftest import Run
from tests.platform import Platform
from tests.waiting import eventually

# The user agent of the client library. If a request sets no field manager, the API server uses the user
# agent.
LIBRARY = "OpenAPI-Generator"
# Field managers of Kubernetes, which writes the status of namespaces and quotas.
KUBERNETES = {"kube-controller-manager", "kube-apiserver"}
SOMEBODY = "somebody"


def managers(objects: Iterable[Manifest]) -> set[str]:
    return {
        entry["manager"] for manifest in objects for entry in manifest["metadata"].get("managedFields") or ()
    }


def test_no_write_in_the_life_of_a_tenant_lacks_a_manager_of_ours(
    platform: Platform, named: Any, tenancy: Run, tmp_path: Path
) -> None:
    manifest = named("managers", deletionPolicy="Retain", namespaces=[{"name": "a"}, {"name": "b"}])
    larger = {**manifest, "spec": {**manifest["spec"], "plan": "pro"}}
    smaller = {**manifest, "spec": {**manifest["spec"], "namespaces": [{"name": "a"}]}}
    for command in (
        ("apply", write(tmp_path / "one.yaml", manifest)),
        ("pause", "managers"),
        ("resume", "managers"),
        ("apply", write(tmp_path / "two.yaml", larger)),
        ("rollback", "managers", "--yes"),
    ):
        result = tenancy(*command)
        assert result.returncode == 0, (command, result.stderr)
    platform.admin.patch(
        ROLE, "tenant-viewer", {"rules": []}, namespace="tenant-managers-a", field_manager=SOMEBODY
    )
    platform.remove("NetworkPolicy", "tenant-managers-a", "default-deny-all")
    platform.await_condition(manifest, "Repaired", "Drifted")
    assert tenancy("apply", write(tmp_path / "three.yaml", smaller), "--yes").returncode == 0

    def released() -> Manifest | None:
        namespace = platform.namespace("tenant-managers-b")
        labels = (namespace or {"metadata": {}})["metadata"].get("labels", {})
        return namespace if namespace and MANAGED_LABEL not in labels else None

    left = eventually(released, "the namespace is released")
    tenant = platform.await_active(manifest)
    commands = {APPLY_MANAGER, PAUSE_MANAGER, ROLLBACK_MANAGER}
    assert WATCHER_FIELD_MANAGER in managers([tenant])
    assert managers([tenant]) <= {WATCHER_FIELD_MANAGER, *commands}
    assert managers(platform.objects("managers").values()) - KUBERNETES == {FIELD_MANAGER}
    assert managers([left]) <= {WATCHER_FIELD_MANAGER, *KUBERNETES}
    events = [
        event for event in platform.admin.list(EVENT)[0] if event["involvedObject"].get("name") == "managers"
    ]
    assert managers(events) == {WATCHER_FIELD_MANAGER}
    platform.admin.delete(NAMESPACE, "tenant-managers-b")
    kinds = (*MANAGED_KINDS, *TENANTS, EVENT, CRD)
    items = [item["metadata"] | {"item": item} for kind in kinds for item in platform.admin.list(kind)[0]]
    # Exclude objects that other tests create without a field manager.
    ours = [
        each["item"]
        for each in items
        if "managers" in each.get("namespace", each["name"]) or each["name"] in {kind.crd for kind in TENANTS}
    ]
    assert LIBRARY not in managers(ours)
