"""`tenancy delete`, `tenancy cordon`, `tenancy uncordon` and `tenancy list --watch`."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.listing.formats import row_data
from cli.listing.watch import watch_rows
from cluster.client import Cluster
from cluster.errors import WatchExpired
from tenancy.base.kinds import TENANTS
from tenancy.base.labels import CORDONED_LABEL
from tenancy.base.manifest import Manifest, is_deleting
from tests.cli.applying import write
from tests.cli.conftest import Run
from tests.cli.previews import previewer_kubeconfig
from tests.platform import ROOT, Platform, tenant_manifest
from tests.shared import shared_tenants
from tests.terminal import run_on_terminal


def labelled(name: str, team: str, **spec: Any) -> Manifest:
    manifest = tenant_manifest(name, **spec)
    manifest["metadata"]["labels"] = {"team": team}
    return manifest


FILED, ASKED = labelled("going-filed", "filed"), labelled("going-asked", "asked")
GUARDED = tenant_manifest("going-guarded", paused=True, protected=True)
STILL, ROPED = tenant_manifest("still", paused=True), tenant_manifest("roped")


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    with shared_tenants(running_platform, FILED, ASKED, GUARDED, STILL, ROPED):
        yield
        running_platform.apply({**GUARDED, "spec": {"paused": True, "protected": False}})


def is_untouched(platform: Platform, manifest: Manifest) -> bool:
    tenant = platform.tenant(manifest)
    return tenant is not None and not is_deleting(tenant)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("going-guarded", "--yes"), "tenant going-guarded is protected; set spec.protected: false first"),
        (("still", "--yes"), "tenant still is paused, so the watcher does not delete its objects; run `ten"),
        (("nobody", "--yes"), "there is no tenant 'nobody'; run `tenancy list`"),
        ((), "nothing was changed: without a terminal, the command needs --yes"),
    ],
)
def test_refused_deletion_deletes_none_of_the_tenants(
    platform: Platform, tenancy: Run, arguments: tuple[str, ...], problem: str
) -> None:
    result = tenancy("delete", "roped", *arguments)
    assert result.returncode == 1
    assert problem in result.stderr
    assert all(is_untouched(platform, manifest) for manifest in (GUARDED, STILL, ROPED))


def test_dry_run_shows_the_objects_and_deletes_none(platform: Platform, tenancy: Run) -> None:
    result = tenancy("delete", "roped", "tenant.platform.ai/nobody", "--ignore-not-found", "--dry-run")
    assert result.returncode == 0, result.stderr
    assert "\n- Namespace tenant-roped\n- Role tenant-roped/tenant-admin\n" in result.stdout
    warning = "warning: roped: the tenant is deleted with its namespaces and everything in them: tenant-roped"
    assert warning in result.stdout
    assert result.stdout.endswith("\nroped would be deleted (dry run).\n")
    assert result.stderr == "there is no tenant 'tenant.platform.ai/nobody'\n"
    assert is_untouched(platform, ROPED)
    result = tenancy("delete", "nobody", "--ignore-not-found", "--yes")
    assert (result.returncode, result.stdout) == (0, "")
    result = tenancy("delete", "-l", "team=none", "--yes")
    assert (result.returncode, result.stderr) == (0, "No tenants match.\n")
    result = tenancy("delete", "roped", "-l", "team=asked", "--yes")
    assert result.returncode == 1
    assert "select tenants in exactly one of these ways" in result.stderr


def test_watch_prints_each_change_until_it_is_interrupted(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
    command = [sys.executable, "-m", "cli.main", "list", "-w", "-l", "team=filed"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        listed = [watch.stdout.readline().split()[:2] for _ in range(2)]
        assert listed == [["NAME", "PHASE"], ["going-filed", "Active"]]

        path = write(tmp_path / "filed.yaml", {**FILED, "spec": {"plan": "none-such"}})
        result = tenancy("delete", "-f", path, "--yes")
        assert (result.returncode, result.stdout) == (0, "going-filed is deleted.\n"), result.stderr
        assert "warning: going-filed: the tenant is deleted with its namespaces" in result.stderr
        assert platform.namespace("tenant-going-filed") is None

        rows: list[list[str]] = []
        while not rows or rows[-1][1] != "Gone":
            rows.append(watch.stdout.readline().split()[:2])
        assert {name for name, _ in rows} == {"going-filed"}
        assert "Terminating" in [phase for _, phase in rows]
        watch.send_signal(signal.SIGINT)
        assert watch.wait(60) == 0, watch.communicate()
        assert watch.communicate() == ("", "")


def test_deletion_asks_on_a_terminal(platform: Platform) -> None:
    refused = run_on_terminal(platform, "n\n", "delete", "-l", "team=asked")
    assert refused.returncode == 1
    assert "Delete these tenants?" in refused.stdout
    assert is_untouched(platform, ASKED)
    agreed = run_on_terminal(platform, "y\n", "delete", "going-asked", "--no-wait")
    assert agreed.returncode == 0, agreed.stderr
    assert agreed.stdout.endswith("going-asked is being deleted.\n")
    assert not is_untouched(platform, ASKED)


def test_watch_lists_again_after_the_connection_was_lost(platform: Platform) -> None:
    class Flaky(Cluster):
        """A client whose first watch fails.

        The Tenant changes just before, so only a new list contains the change.
        """

        is_broken = False

        def watch(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Manifest]]:
            if not self.is_broken:
                self.is_broken = True
                platform.admin.patch(TENANTS[0], "still", {"spec": {"displayName": "Moved"}})
                raise WatchExpired("too old", 410)
            return super().watch(*args, **kwargs)

    cluster = Flaky.connect(platform.admin_kubeconfig)
    rows = watch_rows(cluster, [], lambda _: True, row_data, scopes=[(TENANTS[0], "still")])
    # `rows` is endless, so this statement waits until the row appears.
    assert any(row.display_name == "Moved" for row in rows)


def test_watch_needs_the_right_to_watch(platform: Platform, tenancy: Run, tmp_path: Path) -> None:
    reader = str(previewer_kubeconfig(platform, tmp_path / "reader.kubeconfig"))
    result = tenancy("list", "still", "--watch", KUBECONFIG=reader)
    assert result.returncode == 1
    assert "you need the right to watch tenants.platform.ai" in result.stderr


def test_cordon_is_in_effect_when_the_command_ends_and_apply_keeps_it(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    def label() -> str | None:
        namespace = platform.namespace("tenant-roped") or {"metadata": {}}
        value: str | None = namespace["metadata"]["labels"].get(CORDONED_LABEL)
        return value

    result = tenancy("cordon", "roped")
    assert (result.returncode, result.stdout) == (0, "roped is cordoned.\n"), result.stderr
    assert label() == "true"
    assert tenancy("cordon", "roped").stdout == "roped is already cordoned.\n"
    path = write(tmp_path / "roped.yaml", {**ROPED, "spec": {"displayName": "Roped off"}})
    result = tenancy("apply", "-f", path)
    assert result.returncode == 0, result.stderr
    assert "spec.cordoned" not in result.stderr
    assert label() == "true"
    assert "Cordoned" in tenancy("list", "roped").stdout

    result = tenancy("uncordon", "tenant.platform.ai/roped")
    assert (result.returncode, result.stdout) == (0, "roped is uncordoned.\n"), result.stderr
    assert label() is None
    assert tenancy("uncordon", "roped").stdout == "roped is not cordoned.\n"


def test_cordon_of_a_paused_tenant_says_that_it_is_not_in_effect(tenancy: Run) -> None:
    result = tenancy("cordon", "still")
    assert result.returncode == 1
    assert "spec.cordoned: true is stored, but the watcher did not apply it: still: Paused" in result.stderr
    assert yaml.safe_load(tenancy("list", "still", "-o", "yaml").stdout)[0]["isCordoned"] is True
