"""Commands can wait until tenants are Active.

The tests cover broken watches, deleted tenants, timeouts and the display of progress.
"""

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from cli.wait import GONE, NotSettled, phase_of, ready_condition, wait_until_settled
from cluster.client import Cluster
from cluster.errors import WatchExpired
from embedded.controlplane.plane import ControlPlane
from tenancy.base.manifest import Manifest
from tests.platform import ROOT, NewTenant, Platform, tenant_manifest
from tests.waiting import eventually


def live(platform: Platform, manifest: Manifest) -> Manifest:
    tenant = platform.tenant(manifest)
    assert tenant is not None
    return tenant


def test_tenants_of_both_groups_come_back_in_order_when_each_is_done(
    platform: Platform, new_tenant: NewTenant, capfd: pytest.CaptureFixture[str]
) -> None:
    manifests = [
        new_tenant("wait-a", plan="basic"),
        new_tenant("wait-b", "kleff.kleff.io", plan="none-such"),
        new_tenant("wait-c", paused=True),
    ]
    tenants = [live(platform, manifest) for manifest in manifests]
    final = wait_until_settled(platform.admin, tenants, 60)
    assert [tenant["metadata"]["name"] for tenant in final] == ["wait-a", "wait-b", "wait-c"]
    assert [phase_of(tenant) for tenant in final[:2]] == ["Active", "Failed"]
    assert [ready_condition(tenant)["reason"] for tenant in final] == ["Applied", "UnknownPlan", "Paused"]
    lines = {line.split()[0]: line.split()[1:] for line in capfd.readouterr().err.splitlines()}
    assert lines["wait-a"][0] == "Active"
    assert lines["wait-a"][2:] == ["s"]
    assert lines["wait-b"][0] == "Failed"
    assert "UnknownPlan:" in lines["wait-b"]


def test_an_old_phase_does_not_count_for_a_new_spec(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("wait-news", plan="basic")
    platform.await_active(manifest)
    newest = platform.apply({**manifest, "spec": {"plan": "pro"}})
    (final,) = wait_until_settled(platform.admin, [newest], 60)
    assert final["status"]["observedGeneration"] == newest["metadata"]["generation"]
    quota = platform.get("ResourceQuota", "tenant-wait-news", "tenant-quota")
    assert quota is not None
    assert quota["spec"]["hard"]["cpu"] == "4"


def test_a_broken_watch_is_taken_up_again(platform: Platform, new_tenant: NewTenant) -> None:
    broken = threading.Event()

    class Flaky(Cluster):
        """A client whose first watch fails because its resource version is too old.

        This happens after a compaction of etcd.
        """

        def watch(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Manifest]]:
            if not broken.is_set():
                broken.set()
                raise WatchExpired("too old", 410)
            return super().watch(*args, **kwargs)

    tenant = live(platform, new_tenant("wait-flaky", plan="basic"))
    (final,) = wait_until_settled(Flaky.connect(platform.admin_kubeconfig), [tenant], 60)
    assert broken.is_set()
    assert phase_of(final) == "Active"


def test_on_a_terminal_each_tenant_has_a_line_that_moves(platform: Platform, new_tenant: NewTenant) -> None:
    new_tenant("wait-shown", plan="basic")
    manifest = json.dumps(tenant_manifest("wait-shown", plan="basic"))
    terminal, other_end = pty.openpty()
    shown = bytearray()
    # Read the terminal all the time. When its buffer is full, writes to it block.
    reader = threading.Thread(target=read_terminal, args=(terminal, shown))
    reader.start()
    command = [sys.executable, "-m", "cli.main", "apply", "-"]
    environment = {
        **platform.environment,
        "KUBECONFIG": str(platform.admin_kubeconfig),
        "TERM": "xterm",
        "COLUMNS": "120",
    }
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=other_end, text=True
    ) as process:
        os.close(other_end)
        stdout, _ = process.communicate(manifest)
    reader.join()
    os.close(terminal)
    assert process.returncode == 0, shown
    assert b"wait-shown" in shown
    assert b"\x1b[" in shown
    assert stdout.splitlines()[1].split()[:3] == ["wait-shown", "unchanged", "Active"]


def read_terminal(terminal: int, shown: bytearray) -> None:
    with suppress(OSError):  # Raised when the other end is closed.
        while data := os.read(terminal, 4096):
            shown += data


@pytest.fixture
def unwatched(platform: Platform) -> Iterator[Manifest]:
    """A Tenant that no watcher reconciles."""
    platform.stop()
    manifest = tenant_manifest("wait-alone", plan="basic")
    yield platform.apply(manifest)
    platform.delete(manifest)


def test_time_out_says_who_is_late_and_why(platform: Platform, unwatched: Manifest) -> None:
    with pytest.raises(NotSettled) as error:
        wait_until_settled(platform.admin, [unwatched], 0.5)
    assert str(error.value).splitlines() == [
        "timed out after 0.5 s waiting for:",
        (
            "  wait-alone: Pending, NotSeen: no watcher has reconciled the tenant yet; "
            "run `tenancy doctor` to find out why"
        ),
    ]


def test_a_deleted_tenant_is_not_waited_for(
    platform: Platform, unwatched: Manifest, control_plane: ControlPlane
) -> None:
    final: list[Manifest] = []
    is_watching = threading.Event()

    class Telling(Cluster):
        def watch(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Manifest]]:
            is_watching.set()
            return super().watch(*args, **kwargs)

    cluster = Telling.connect(control_plane.kubeconfig)
    thread = threading.Thread(target=lambda: final.extend(wait_until_settled(cluster, [unwatched], 60)))
    thread.start()
    eventually(is_watching.is_set, "the tenant is watched")
    platform.delete(unwatched)
    thread.join()
    assert phase_of(final[0]) == GONE
    assert wait_until_settled(platform.admin, [unwatched], 60)[0]["status"]["phase"] == GONE
