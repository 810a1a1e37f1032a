"""The API server accepts some hostile objects.

The watcher reports them, and they do not affect other tenants.
"""

from tenancy.base.kinds import TENANTS
from tenancy.base.manifest import Manifest
from tests.fuzz.hostile_values import json_text
from tests.fuzz.raw_api import RawApi
from tests.platform import Platform, tenant_manifest
from tests.watcher.extra_objects import extra

# Each value is a hostile spec, and the field that the watcher's message names.
HOSTILE: dict[str, tuple[Manifest, str]] = {
    "deep-maps": ({"extraResources": [extra("Service", "a", spec={"a": "@5000 maps@"})]}, ".spec.a.a.a"),
    "deep-lists": (
        {"extraResources": [extra("PodDisruptionBudget", "a", "policy/v1", spec="@5000 lists@")]},
        ".spec",
    ),
    "long-version": ({"extraResources": [extra("ConfigMap", "a", "@mib@")]}, ".apiVersion"),
    "long-key": ({"extraResources": [extra("ConfigMap", "a", data={"@mib@": 5})]}, ".data."),
    "same-namespace": (
        {
            "adopt": True,
            "namespaces": [{"name": "a", "existing": "tenant-hostile-same-namespace-b"}, {"name": "b"}],
        },
        "spec.namespaces[1].name",
    ),
}


def test_watcher_survives_hostile_tenants_and_applies_others(platform: Platform) -> None:
    earlier_log = platform.logs[-1].read_text()
    harmless = tenant_manifest("harmless")
    manifests = {name: tenant_manifest(f"hostile-{name}", **spec) for name, (spec, _) in HOSTILE.items()}
    api = RawApi(platform.admin_kubeconfig)
    answers = api.create_all(TENANTS[0], "", map(json_text, manifests.values()), is_dry_run=False)
    try:
        assert [answer.message for answer in answers if answer.stored is None] == []
        platform.add(harmless)
        platform.await_active(harmless)
        for name, manifest in manifests.items():
            message = platform.await_condition(manifest, "InvalidSpec")["message"]
            assert HOSTILE[name][1] in message, message
            assert len(message) < 5000
        for path in ("", *(f"/hostile-{name}" for name in HOSTILE)):
            assert platform.http_get(f"/api/tenants{path}")[0] == 200, path
        assert platform.http_get("/healthz") == (200, "ok\n")
        assert "Traceback" not in platform.logs[-1].read_text().removeprefix(earlier_log)
    finally:
        for manifest in (harmless, *manifests.values()):
            platform.abandon(manifest)
