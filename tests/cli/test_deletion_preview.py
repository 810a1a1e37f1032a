"""The preview of a deletion, for users with different rights."""

from typing import Any

from cli.connection import Connection
from cli.preview.deletion import deletion_preview
from cli.preview.result import Outcome
from cluster.errors import ClusterError
from tenancy.base.kinds import NAMESPACE, ROLE, Kind
from tenancy.base.labels import MANAGED_SELECTOR, TENANT_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.names import FINALIZER
from tests.platform import tenant_manifest

_LABELS = {TENANT_LABEL: "a"}
_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant-a", "labels": _LABELS}}
_ROLE = {
    "apiVersion": ROLE.api_version,
    "kind": "Role",
    "metadata": {"name": "admin", "namespace": "tenant-a", "labels": _LABELS},
}


class Rights(Connection):
    """A connection to a cluster that contains the objects of tenant `a`.

    The user may list only some kinds.
    """

    readable: tuple[Kind, ...] = (NAMESPACE, ROLE)

    @property
    def served(self) -> frozenset[Kind]:
        raise ClusterError("forbidden", 403)

    @property
    def cluster(self) -> Any:
        return self

    def list(self, kind: Kind, selector: str) -> tuple[list[Manifest], str]:
        assert selector == MANAGED_SELECTOR
        if kind in (NAMESPACE, ROLE) and kind not in self.readable:
            raise ClusterError("forbidden", 403)
        return [item for item in (_NAMESPACE, _ROLE) if item["kind"] == kind.kind], ""


class TenantsOnly(Rights):
    readable = ()


def tenant(status: dict[str, Any] | None = None, **spec: Any) -> Manifest:
    manifest = tenant_manifest("a", **spec)
    manifest["metadata"]["finalizers"] = [FINALIZER]
    return {**manifest, "status": status or {"namespaceStatus": {"tenant-a": {}, "tenant-a-dev": {}}}}


def changed_objects(connection: Connection, manifest: Manifest) -> list[str]:
    (preview,) = deletion_preview(connection, [manifest]).tenants
    return [f"{change.operation} {change.key}" for change in preview.changes]


def test_preview_lists_the_objects_of_the_tenant() -> None:
    assert changed_objects(Rights(), tenant()) == ["delete Namespace tenant-a", "delete Role tenant-a/admin"]
    assert deletion_preview(Rights(), [tenant()]).notes == ()


def test_retained_namespaces_are_released() -> None:
    objects = changed_objects(Rights(), tenant(deletionPolicy="Retain"))
    assert objects == ["release Namespace tenant-a", "delete Role tenant-a/admin"]


def test_without_rights_the_namespaces_come_from_the_status() -> None:
    assert changed_objects(TenantsOnly(), tenant()) == [
        "delete Namespace tenant-a",
        "delete Namespace tenant-a-dev",
    ]
    (note,) = deletion_preview(TenantsOnly(), [tenant()]).notes
    assert note.endswith("because you cannot list them: Namespace, Role")


def test_a_tenant_that_the_watcher_never_accepted_has_no_objects() -> None:
    rejected = tenant()
    del rejected["metadata"]["finalizers"]
    assert changed_objects(Rights(), rejected) == []


def test_a_protected_tenant_is_an_error() -> None:
    for manifest in (tenant(protected=True), tenant({"protected": True})):
        (preview,) = deletion_preview(Rights(), [manifest]).tenants
        assert preview.outcome is Outcome.INVALID
        assert "set spec.protected: false first" in preview.findings[0].message
