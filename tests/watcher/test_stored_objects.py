"""An older CRD has accepted objects that this version cannot read.

These objects do not affect other objects.
"""

import json
from collections.abc import Iterator

import pytest

from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import AISESSION, TENANTS
from tenancy.base.manifest import Manifest
from tests.commandline import run_tenancy
from tests.etcd import store
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

SOUND = tenant_manifest("stored-sound")
NAMESPACE = "tenant-stored-sound"
BAD_TENANTS: dict[str, Manifest] = {
    "stored-empty": {},
    "stored-types": {"spec": {"plan": 5, "displayName": 7, "namespaces": "a", "adminUsers": {"a": 1}}},
    "stored-status": {"spec": {"plan": "none"}, "status": {"namespaceStatus": [{"a": 1}]}},
}
BAD_SESSIONS: dict[str, Manifest] = {
    "no-spec": {},
    "no-tenant": {"spec": {"sessionType": "analysis"}},
    "no-name": {"spec": {"sessionType": "analysis", "tenantRef": {}}},
    "no-types": {"spec": {"sessionType": 5, "tenantRef": {"name": "stored-sound"}, "timeout": []}},
}


@pytest.fixture(scope="module")
def stored(running_platform: Platform, control_plane: ControlPlane) -> Iterator[None]:
    """Store objects that lack required fields, and objects with values of wrong types."""
    running_platform.ensure_started()
    running_platform.apply(SOUND)
    running_platform.await_active(SOUND)
    for name, body in BAD_SESSIONS.items():
        store(control_plane, AISESSION, name, NAMESPACE, **body)
    for name, body in BAD_TENANTS.items():
        store(control_plane, TENANTS[0], name, **body)
    yield
    for name in BAD_SESSIONS:
        running_platform.admin.delete(AISESSION, name, NAMESPACE)
    for name in BAD_TENANTS:
        running_platform.abandon(tenant_manifest(name))
    running_platform.verify_and_abandon([SOUND])


def logged(line: Manifest) -> tuple[str | None, ...]:
    return line["message"], line.get("tenant"), line.get("reason")


@pytest.mark.usefixtures("stored")
def test_unreadable_objects_do_not_affect_others(platform: Platform) -> None:
    # The running watcher has received the objects by its watch. A new watcher lists the objects.
    assert platform.http_get("/healthz")[0] == 200
    platform.stop()
    platform.start()
    platform.apply({**SOUND, "spec": {"displayName": "Sound"}})
    platform.await_active(SOUND)
    session = tenant_manifest("sound")["metadata"] | {"namespace": NAMESPACE}
    spec = {"sessionType": "analysis", "tenantRef": {"name": "stored-sound"}}
    sound = {"apiVersion": AISESSION.api_version, "kind": "AISession", "metadata": session, "spec": spec}
    platform.admin.create(AISESSION, sound)
    eventually(
        lambda: (platform.admin.get(AISESSION, "sound", NAMESPACE) or {}).get("status"),
        "the other session is reconciled",
    )
    platform.admin.delete(AISESSION, "sound", NAMESPACE)
    # The API server rejects writes of this Tenant's status. So only the log contains the problem.
    failure = ("tenant failed", "stored-types", "InvalidSpec")
    eventually(
        lambda: any(failure == logged(line) for line in platform.log()), "the watcher logs the invalid spec"
    )
    assert platform.http_get("/healthz")[0] == 200
    assert "stored-sound" in platform.http_get("/metrics")[1]
    rows = json.loads(platform.http_get("/api/tenants")[1])
    assert {"stored-sound", *BAD_TENANTS} <= {row["name"] for row in rows["tenants"]}
    environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
    listed = run_tenancy("list", environment=environment)
    assert listed.returncode == 0, listed.stderr
    assert all(name in listed.stdout for name in ("stored-sound", *BAD_TENANTS))
