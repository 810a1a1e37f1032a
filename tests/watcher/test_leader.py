"""Two watchers on one cluster: only the leader acts, and the other one takes over when the leader ends."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
import yaml

from embedded.controlplane.loopback import is_ok
from stacks.command import WORK_FOLDER_VARIABLE
from tenancy.base.kinds import LEASE
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import LEADERS_ANNOTATION, SYSTEM_NAMESPACE, WATCHER
from tests.holding import held_updates
from tests.page.client import PageClient
from tests.page.detour import Detour
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually
from tests.watcher_process import WatcherProcess

DURATION_S = 8
TIMES = ("--lease-duration", str(DURATION_S), "--lease-renew-deadline", "5", "--lease-retry-period", "0.5")

NewWatcher = Callable[..., WatcherProcess]


@pytest.fixture(scope="module", autouse=True)
def _short_times(running_platform: Platform) -> Iterator[None]:
    """Run the platform's watcher with short times. Other test files use the default times."""
    running_platform.stop()
    yield
    if running_platform.process is not None:
        running_platform.stop()


@pytest.fixture
def platform(running_platform: Platform) -> Platform:
    running_platform.ensure_started(*TIMES)
    return running_platform


@pytest.fixture
def new_watcher(platform: Platform, tmp_path: Path) -> Iterator[NewWatcher]:
    """A function that creates a watcher process with these environment variables. It is not started."""
    with ExitStack() as stopping:

        def create(name: str, **environment: str) -> WatcherProcess:
            folder = tmp_path / name
            folder.mkdir()
            watcher = WatcherProcess(folder=folder, environment={**platform.environment, **environment})
            stopping.callback(end, watcher)
            return watcher

        yield create


def end(watcher: WatcherProcess) -> None:
    if watcher.process is not None and watcher.process.poll() is None:
        watcher.stop()


def lease(platform: Platform) -> Manifest:
    manifest = platform.admin.get(LEASE, WATCHER, SYSTEM_NAMESPACE)
    assert manifest is not None
    return manifest


def leader(platform: Platform) -> str:
    holder: str = lease(platform)["spec"]["holderIdentity"]
    return holder


def logged(watcher: WatcherProcess, message: str) -> list[dict[str, str]]:
    return [line for line in watcher.log() if line["message"] == message]


def await_leading(watcher: WatcherProcess) -> str:
    [line] = eventually(lambda: logged(watcher, "leading"), f"the watcher leads; see {watcher.logs[-1]}")
    return line["holder"]


def move_leader_to_another_machine(platform: Platform) -> None:
    """Change the record of the leader, so that other watchers cannot see whether its process has ended."""
    records = json.loads(lease(platform)["metadata"]["annotations"][LEADERS_ANNOTATION])
    records[0]["machine"] = "elsewhere"
    change = {"metadata": {"annotations": {LEADERS_ANNOTATION: json.dumps(records)}}}
    platform.admin.patch(LEASE, WATCHER, change, namespace=SYSTEM_NAMESPACE)


def test_standby_changes_nothing_and_names_the_leader(
    platform: Platform, new_watcher: NewWatcher, new_tenant: NewTenant
) -> None:
    standby = new_watcher("standby")
    standby.start(*TIMES)
    holder = await_leading(platform)
    assert leader(platform) == holder
    assert f"standby: {holder} leads" in standby.http_get("/readyz")[1]
    assert "standby" not in platform.http_get("/readyz")[1]
    page = PageClient(standby.port).get("/api/tenants").data
    assert (page["leader"], page["isLeader"]) == (holder, False)
    assert PageClient(platform.port).get("/api/tenants").data["isLeader"]

    platform.await_active(new_tenant("led", plan="basic"))
    assert platform.pulumi_run_count(tenant="led") == 1
    assert standby.pulumi_run_count() == 0
    eventually(
        lambda: (
            "led" in [row["name"] for row in PageClient(standby.port).get("/api/tenants").data["tenants"]]
        ),
        "the page of the standby shows the tenant",
    )
    status = "leader_election_master_status"
    assert (platform.metrics(status), standby.metrics(status)) == ({(WATCHER,): 1}, {(WATCHER,): 0})
    assert platform.metrics("tenancy_tenants")
    assert not standby.metrics("tenancy_tenants")
    assert standby.metrics("process_cpu_seconds_total")


def test_standby_takes_over_when_the_leader_stops(
    platform: Platform, new_watcher: NewWatcher, new_tenant: NewTenant
) -> None:
    platform.await_active(new_tenant("handed-over", plan="basic"))
    standby, foreign = new_watcher("standby"), new_watcher("foreign", PULUMI_BACKEND_URL="")
    state = foreign.folder / "state"
    state.mkdir()
    foreign.environment["PULUMI_BACKEND_URL"] = f"file://{state}"
    foreign.start(*TIMES)
    platform.stop()
    # A watcher with another backend does not take over, even though no watcher leads.
    eventually(lambda: logged(foreign, "lease not taken"), "the watcher sees that no watcher leads")
    code, problem = foreign.http_get("/readyz")
    assert code == 503
    assert f"this watcher uses file://{state}" in problem
    assert "tenancy state claim" in problem

    standby.start(*TIMES)
    await_leading(standby)
    assert not logged(foreign, "leading")
    # The new leader knows the namespaces and the updates of the old one.
    manifest = platform.apply(tenant_manifest("handed-over", plan="pro"))
    assert platform.await_active(manifest)["status"]["lastUpdate"]["version"] == 2
    assert standby.pulumi_run_count(tenant="handed-over") == 1


def test_standby_finishes_the_updates_of_a_killed_leader(
    platform: Platform, new_watcher: NewWatcher, new_tenant: NewTenant
) -> None:
    standby = new_watcher("standby")
    standby.start(*TIMES)
    move_leader_to_another_machine(platform)
    with held_updates(platform, "tenant-half-done-c"):
        manifest = new_tenant("half-done", namespaces=[{"name": name} for name in "abc"])
        eventually(lambda: platform.namespace("tenant-half-done-c"), "the tenant is partly created")
        # The lock of the update belongs to a live leader.
        before = lease(platform)
        assert not logged(standby, "leading")
        platform.kill()
        locks = platform.stack_folder("locks") / "organization" / "tenancy" / "tenant-half-done"
        assert list(locks.glob("*.json"))
    holder = await_leading(standby)
    renewed, acquired = (
        datetime.fromisoformat(time)
        for time in (before["spec"]["renewTime"], lease(platform)["spec"]["acquireTime"])
    )
    assert acquired >= renewed + timedelta(seconds=DURATION_S)
    assert leader(platform) == holder
    platform.await_active(manifest)
    assert not list(locks.glob("*.json"))
    assert logged(standby, "clearing a dead process's lock")


def test_leader_without_the_api_server_ends_its_updates_before_another_leads(
    platform: Platform, new_watcher: NewWatcher, new_tenant: NewTenant, tmp_path: Path
) -> None:
    document = yaml.safe_load(Path(platform.environment["KUBECONFIG"]).read_text())
    server = document["clusters"][0]["cluster"]
    with Detour(urlsplit(server["server"]).port or 0) as detour:
        server["server"] = detour.address.replace("http:", "https:")
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(document))
        platform.stop()
        cut_off = new_watcher("cut-off", KUBECONFIG=str(kubeconfig))
        cut_off.start(*TIMES)
        await_leading(cut_off)
        platform.start(*TIMES)
        move_leader_to_another_machine(platform)
        with held_updates(platform, "tenant-cut-off-c"):
            manifest = new_tenant("cut-off", namespaces=[{"name": name} for name in "abc"])
            eventually(lambda: platform.namespace("tenant-cut-off-c"), "the tenant is partly created")
            assert processes_of(cut_off)
            detour.close()
            eventually(lambda: logged(cut_off, "lease lost"), "the leader notices it")
            assert cut_off.process is not None
            eventually(lambda: logged(platform, "leading"), "the standby leads")
            # The processes of the old leader had ended before.
            assert cut_off.process.poll() == 1
            assert not processes_of(cut_off)
    platform.await_active(manifest)


def processes_of(watcher: WatcherProcess) -> list[int]:
    """The processes that the watcher has started for operations."""
    pids = []
    for process in psutil.process_iter():
        try:
            folder = process.environ().get(WORK_FOLDER_VARIABLE, "")
        except (psutil.Error, OSError):
            continue
        if folder.startswith(str(watcher.folder)) and process.status() != psutil.STATUS_ZOMBIE:
            pids.append(process.pid)
    return pids


def test_leader_keeps_a_lease_that_somebody_deletes(platform: Platform, new_watcher: NewWatcher) -> None:
    standby = new_watcher("standby")
    standby.start(*TIMES)
    holder = await_leading(platform)
    platform.admin.delete(LEASE, WATCHER, SYSTEM_NAMESPACE)
    eventually(lambda: platform.admin.get(LEASE, WATCHER, SYSTEM_NAMESPACE), "the leader restores the Lease")
    assert leader(platform) == holder
    assert not logged(standby, "leading")
    assert is_ok(platform.port, "/readyz")


def test_leader_whose_lease_somebody_else_holds_exits(platform: Platform) -> None:
    await_leading(platform)
    assert platform.process is not None
    change = {"spec": {"holderIdentity": "somebody-else"}}
    platform.admin.patch(LEASE, WATCHER, change, namespace=SYSTEM_NAMESPACE)
    assert platform.process.wait(timeout=60) == 1
    [line] = logged(platform, "lease lost")
    assert "somebody-else" in line["reason"]
    platform.admin.patch(LEASE, WATCHER, {"spec": {"holderIdentity": ""}}, namespace=SYSTEM_NAMESPACE)


def test_times_in_the_wrong_order_are_rejected(platform: Platform) -> None:
    command = ["python", "-m", "watcher", "--lease-duration", "5", "--lease-renew-deadline", "6"]
    result = subprocess.run(
        command, env=platform.environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 2
    assert "greater than its renew" in " ".join(result.stderr.split())
