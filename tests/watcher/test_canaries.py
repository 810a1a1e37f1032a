"""The platform can read secrets, but the objects, files and outputs that it writes do not contain them."""

import base64
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from tenancy.base.kinds import CONFIG_MAP, EVENT, MANAGED_KINDS, TENANTS, Kind
from tests.commandline import run_tenancy
from tests.page.client import PageClient
from tests.platform import CANARIES, ROOT, Platform, tenant_manifest
from tests.watcher.extra_objects import extra

SECRET = Kind("v1", "Secret", "secrets")
NAMESPACE = "tenant-canary-life"
OF_TENANT, OF_PAGE = "canary-of-the-tenant", "canary.of.the.page"


def live(platform: Platform, tmp_path: Path) -> Iterator[str]:
    """Create, change, break and delete a tenant. Yields the outputs of commands and of the web page."""
    manifest = tenant_manifest("canary-life", plan="basic")
    broken = extra("Service", "refused", spec={"ports": [{"port": 70000}]})
    changed = {**manifest, "spec": {"plan": "basic", "displayName": "b", "extraResources": [broken]}}
    file = tmp_path / "canary-life.yaml"
    file.write_text(yaml.safe_dump(changed))

    def tenancy(*arguments: str) -> str:
        environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
        result = run_tenancy(*arguments, environment=environment)
        return result.stdout + result.stderr

    platform.add(manifest)
    platform.await_active(manifest)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": NAMESPACE}}
    platform.admin.create(SECRET, {**secret, "stringData": {"password": OF_TENANT}})
    yield tenancy("preview", "-f", str(file))
    platform.apply(changed)
    yield platform.await_condition(manifest, "UpdateFailed")["message"]
    platform.apply({**manifest, "spec": {"plan": "basic", "displayName": "b"}})
    platform.await_active(manifest)
    headers = {"Authorization": f"Bearer {OF_PAGE}", "Cookie": f"tenancy-token={OF_PAGE}"}
    page = PageClient(platform.port, headers)
    paths = ("/api/tenants", "/api/tenants/canary-life", "/api/tenants/canary-life/history", "/metrics")
    for path in (*paths, "/healthz", "/readyz", f"/api/login?token={OF_PAGE}"):
        yield page.get(path).text
    yield tenancy("history", "canary-life", "--diff")
    yield tenancy("doctor")
    yield written_objects(platform)
    platform.delete(manifest)
    platform.await_gone(manifest)


def written_objects(platform: Platform) -> str:
    """All objects of the kinds that the platform writes."""
    kinds = {*MANAGED_KINDS, *TENANTS, EVENT, CONFIG_MAP}
    return json.dumps([platform.admin.list(kind)[0] for kind in kinds])


def written_files(platform: Platform) -> Iterator[tuple[Path, str]]:
    """The files that the watcher, the engine and Pulumi have written, such as logs and states."""
    folders = [platform.folder / name for name in ("run", "state", "pulumi")]
    for file in (*platform.logs, *(file for folder in folders for file in folder.rglob("*"))):
        if file.is_file() and os.access(file, os.R_OK):
            content = file.read_bytes()
            yield (
                file,
                (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("latin-1"),
            )


def test_no_secret_appears_in_what_the_platform_writes(platform: Platform, tmp_path: Path) -> None:
    kubeconfig = yaml.safe_load(Path(platform.environment["KUBECONFIG"]).read_text())
    token = kubeconfig["users"][0]["user"]["token"]
    secrets = {*CANARIES.values(), token, OF_TENANT, OF_PAGE}
    secrets |= {base64.b64encode(secret.encode()).decode() for secret in secrets}
    outputs = {f"output {number}": text for number, text in enumerate(live(platform, tmp_path))}
    files = {str(file): text for file, text in written_files(platform)}
    assert any("canary-life" in text for file, text in files.items() if "/state/" in file)
    assert "canary-life" in files[str(platform.logs[-1])]
    assert all(outputs.values()), outputs
    texts = {**outputs, **files, "objects": written_objects(platform)}
    leaks = [(place, secret) for place, text in texts.items() for secret in secrets if secret in text]
    assert not leaks


def test_credentials_in_the_url_of_a_backend_are_not_logged(platform: Platform, tmp_path: Path) -> None:
    """The watchers cannot reach a cluster, so that they do not reconcile the tenants of other tests."""
    kubeconfig = tmp_path / "kubeconfig"
    document = yaml.safe_load(platform.admin_kubeconfig.read_text())
    document["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    kubeconfig.write_text(yaml.safe_dump(document))
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "watcher", "--backend", url, "--http", "127.0.0.1:0"),
                *("--run-dir", str(tmp_path / url.partition(":")[0])),
            ],
            cwd=ROOT,
            env=platform.environment | {"KUBECONFIG": str(kubeconfig)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for url in (
            "postgres://user:canary-url@127.0.0.1:1/db?password=canary-url",
            "s3://canary-url:canary-url@bucket?endpoint=127.0.0.1:1&secret_key=canary-url&region=a",
        )
    ]
    for process in processes:
        assert process.stderr is not None
        output = process.stderr.readline()
        process.kill()
        output += process.communicate(timeout=60)[1]
        assert "127.0.0.1" in output
        assert "canary" not in output
