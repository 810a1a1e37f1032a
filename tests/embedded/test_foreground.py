"""`./dev run` in the foreground: with the sample tenants, and on a cluster of the user's kubeconfig."""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from cluster.client import Cluster
from embedded.controlplane.plane import ControlPlane
from embedded.run import foreground
from embedded.run.state_folder import StateFolder
from embedded.toolchain.tools import ENGINE
from tenancy.base.kinds import LEASE
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tests.embedded.dev import Dev
from tests.waiting import eventually

Alive = Callable[[Iterable[int]], list[int]]


def test_samples_become_active_and_the_next_run_finds_them(dev: Dev) -> None:
    output = dev.succeeds("run", "--once")
    assert "all 2 sample tenants are Active" in output
    assert "tenant acme (kleff.kleff.io): Active" in output
    assert "all 2 sample tenants are Active" in dev.succeeds("run", "--once")
    assert "stack applied" not in dev.folder.watcher_log.read_text()


@pytest.mark.long
def test_signal_stops_foreground_instances_and_their_builds(
    dev: Dev, other: Dev, tools: dict[str, Path], tmp_path: Path, alive: Alive
) -> None:
    """Two instances run at the same time. The first has all tools. The second is still building a tool."""
    builder = tmp_path / "builder"
    other.lack("kwok", tools=tools, build=f"echo $$ > {builder}\n  sleep 600")
    with dev.popen("run") as whole, other.popen("run") as preparing:
        try:
            assert whole.stdout is not None
            assert preparing.stdout is not None
            assert any("Active" in line for line in whole.stdout)
            lines = list(takewhile(lambda line: "Still being prepared: kwok" not in line, preparing.stdout))
            assert sum(line.endswith(": Active\n") for line in lines) == 2, "the samples come first"
            eventually(builder.exists, "kwok is being built")
            assert "kwok" in dev.running()
            assert "kwok" not in other.running()
            pids = [*dev.pids(), *other.pids(), int(builder.read_text())]
            whole.send_signal(signal.SIGINT)
            preparing.send_signal(signal.SIGTERM)
            for process in (whole, preparing):
                process.communicate()
        finally:
            whole.kill()
            preparing.kill()
    assert (whole.returncode, preparing.returncode) == (0, 128 + signal.SIGTERM)
    assert alive(pids) == []
    assert not dev.folder.record.exists()
    assert not other.folder.record.exists()


@pytest.fixture(scope="module")
def control_plane(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tools, tmp_path_factory.mktemp("own"), is_throw_away=True) as plane:
        yield plane


@pytest.fixture
def user_cluster(control_plane: ControlPlane) -> ControlPlane:
    """A control plane that the tests use as the user's own cluster. Only one instance uses it at a time.

    The instances have different backends. The Lease would bind the cluster to the first one.
    """
    Cluster.connect(control_plane.kubeconfig).delete(LEASE, WATCHER, SYSTEM_NAMESPACE)
    return control_plane


def test_failed_sample_ends_once_with_its_reason(
    user_cluster: ControlPlane,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = {
        "apiVersion": "platform.ai/v1",
        "kind": "Tenant",
        "metadata": {"name": "broken"},
        "spec": {"plan": "no-such-plan"},
    }
    monkeypatch.setattr(foreground, "sample_manifests", lambda: [broken])
    monkeypatch.setenv("KUBECONFIG", str(user_cluster.kubeconfig))
    code = foreground.run_in_foreground(StateFolder(tmp_path / "dev"), "", is_once=True, timeout_s=60)
    assert code == 1
    assert re.search(r"failed: broken: .*no-such-plan", capsys.readouterr().out)


def test_instance_on_a_cluster_of_the_user_survives_a_failed_build(
    dev: Dev, user_cluster: ControlPlane, tools: dict[str, Path]
) -> None:
    dev.env["KUBECONFIG"] = str(user_cluster.kubeconfig)
    dev.lack(ENGINE, "pulumi-language-python", tools=tools, build="echo no compiler today; exit 1")
    assert "Still being prepared: tenancy-engine, pulumi-language-python." in dev.succeeds(
        "run", "--detach", "--cluster", "embedded"
    )
    assert "etcd" not in dev.running()
    command = [str(tools["kubectl"]), "get", "crd", "-o", "json"]
    crds = json.loads(subprocess.check_output(command, env=dev.env))
    assert {"tenants.platform.ai"} <= {item["metadata"]["name"] for item in crds["items"]}
    message = (
        "tenancy-engine, pulumi-language-python could not be prepared. The watcher uses the Pulumi CLI"
        " instead of tenancy-engine. The other processes continue."
    )
    eventually(lambda: message in dev.folder.daemon_log.read_text(), "the failure is reported")
    assert "no compiler today" in dev.folder.daemon_log.read_text()
    assert "watcher" in dev.running()
    # `./dev env` tries to get the tool again, and prints the error. It still sets the variables.
    env = dev("env")
    assert env.returncode == 0
    assert "no compiler today" in env.stderr
    assert "The variables are set without the missing tools." in env.stderr
    assert dev.variables()["PULUMI_BACKEND_URL"] not in ("", f"file://{dev.folder.backend()}")
    dev.succeeds("stop")


def test_unknown_context_is_refused(dev: Dev) -> None:
    run = dev("run", "--detach", "--cluster", "no-such-context")
    assert run.returncode == 1
    assert "kubectl config get-contexts" in run.stderr
