"""A session in the foreground, with the sample tenants; and one on a cluster of the user's own."""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from embedded.session import foreground
from embedded.session.state import StateFolder
from tests.embedded.dev import Dev

Alive = Callable[[Iterable[int]], list[int]]


def test_samples_become_active_and_the_next_run_finds_them(dev: Dev) -> None:
    output = dev.succeeds("run", "--once")
    assert "all 2 sample tenants are Active" in output
    assert "tenant acme (kleff.kleff.io): Active" in output
    assert "all 2 sample tenants are Active" in dev.succeeds("run", "--once")
    assert "stack applied" not in dev.folder.watcher_log.read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_a_session_in_the_foreground(dev: Dev, alive: Alive, number: signal.Signals) -> None:
    with dev.popen("run") as process:
        try:
            assert process.stdout is not None
            assert any("Active" in line for line in process.stdout)
            pids = dev.pids()
            process.send_signal(number)
            process.communicate()
        finally:
            process.kill()
    assert process.returncode == (0 if number is signal.SIGINT else 128 + number)
    assert alive(pids) == []
    assert not dev.folder.record.exists()


def test_failed_sample_ends_once_with_its_reason(
    tools: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tools
    broken = {
        "apiVersion": "platform.ai/v1",
        "kind": "Tenant",
        "metadata": {"name": "broken"},
        "spec": {"plan": "no-such-plan"},
    }
    monkeypatch.setattr(foreground, "sample_manifests", lambda: [broken])
    code = foreground.run_in_foreground(StateFolder(tmp_path / "dev"), None, is_once=True, timeout_s=60)
    assert code == 1
    assert re.search(r"failed: broken: .*no-such-plan", capsys.readouterr().out)


def test_cluster_flag_uses_the_cluster_of_the_kubeconfig(
    dev: Dev, tools: dict[str, Path], tmp_path: Path
) -> None:
    with ControlPlane(tools, tmp_path / "own", is_throw_away=True) as own:
        dev.env["KUBECONFIG"] = str(own.kubeconfig)
        dev.succeeds("run", "--detach", "--cluster", "embedded")
        assert dev("pid", "etcd").returncode == 1
        assert dev.variables()["PULUMI_BACKEND_URL"] != f"file://{dev.folder.backend()}"
        command = [str(tools["kubectl"]), "get", "crd", "-o", "json"]
        found = json.loads(subprocess.check_output(command, env=dev.env))
        assert {"tenants.platform.ai"} <= {item["metadata"]["name"] for item in found["items"]}
        dev.succeeds("stop")


def test_unknown_context_is_refused(dev: Dev) -> None:
    done = dev("run", "--detach", "--cluster", "no-such-context")
    assert done.returncode == 1
    assert "kubectl config get-contexts" in done.stderr
