"""The warm engine starts and ends. While it is not usable, the CLI replaces it.

Other users cannot connect to the engine.
"""

import contextlib
import os
import signal
import socket
import socketserver
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from embedded.controlplane.loopback import HOST, free_port
from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.tools import ENGINE
from stacks.errors import ClusterUnreachable
from stacks.operation import EngineName
from tests.platform import ROOT
from tests.stacks.conftest import OpenStacks, desired
from tests.waiting import eventually

CANARY = "canary-4711"


@pytest.fixture
def engine() -> EngineName:
    return EngineName.WARM


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(None, "tenancy-engine is not installed", id="missing"),
        pytest.param("", "cannot be started: .*Exec format error", id="not a program"),
        pytest.param(
            "echo cannot open s3://me:secret@bucket >&2; exit 1",
            r"cannot open s3://\*\*\*@bucket",
            id="failing",
        ),
        pytest.param("echo hello; cat", "did not print its version", id="another program"),
        pytest.param(
            """echo '{"version": "v1.2.3"}'; cat""", "tenancy-engine has version 1.2.3", id="another version"
        ),
    ],
)
def test_cli_replaces_an_unusable_engine_until_it_is_usable(
    open_stacks: OpenStacks,
    tools: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str | None,
    problem: str,
) -> None:
    binary = tmp_path / "engine"
    monkeypatch.setenv("TENANCY_ENGINE_BINARY", str(binary))
    if text is not None:
        script(binary, text)
    if text == "":
        binary.write_bytes(b"\0")
    stacks, command = open_stacks()
    with capture_logs() as logs:
        for _ in range(2):
            assert stacks.destroy("nobody", "bye") is None
    assert command.commands == ["destroy", "destroy"]
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert len(warnings) == 1, "the problem is logged once"
    assert stacks.engine_problem is not None
    assert pytest.raises(AssertionError, match=problem).matches(AssertionError(warnings[0]["problem"]))
    assert not list((tmp_path / "run").glob("engine.*")), "nothing is left of the failed starts"

    binary.unlink(missing_ok=True)
    binary.symlink_to(tools[ENGINE])

    def is_used() -> bool:
        stacks.destroy("nobody", "bye")
        return stacks.engine_problem is None

    eventually(is_used, "the engine is used after all")
    command.commands.clear()
    assert stacks.destroy("nobody", "bye") is None
    assert command.commands == []


OWNER = """
import sys, time
from pathlib import Path
from stacks.command import PulumiProcess
from stacks.operation import EngineName
from stacks.stack import Stacks
from tests.stacks.conftest import desired
folder = Path(sys.argv[1])
stacks = Stacks(f"file://{folder / 'state'}", folder / "run", PulumiProcess(timeout_s=120), EngineName.WARM)
stacks.prepare()
stacks.up(desired("owned"), "spec generation 1")
print(stacks.engine.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("is_engine_killed", [False, True], ids=["owner", "owner and engine"])
@pytest.mark.usefixtures("warm")
def test_nothing_survives_a_killed_owner_of_the_engine(tmp_path: Path, is_engine_killed: bool) -> None:
    (tmp_path / "state").mkdir()
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    lines = (line for line in owner.stdout if line.strip().isdigit())
    pid = int(next(lines))
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    assert len(processes) == 2, "the engine and its provider"
    owner.kill()
    if is_engine_killed:
        os.kill(pid, signal.SIGKILL)
    owner.wait()
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert not alive


def test_only_the_user_can_reach_the_engine_and_nothing_shows_the_passphrase(
    open_stacks: OpenStacks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", CANARY)
    stacks, _ = open_stacks()
    stacks.up(desired("canary"), "spec generation 1")
    stacks.refresh("canary", "look")
    assert stacks.engine is not None
    assert stacks.engine.pid is not None
    folder = tmp_path / "run" / "engine.1"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "engine.sock")}
    assert modes == {"engine.1": 0o700, "engine.sock": 0o600}
    assert stat.S_ISSOCK((folder / "engine.sock").stat().st_mode)

    process = psutil.Process(stacks.engine.pid)
    lines = [argument for each in (process, *process.children()) for argument in each.cmdline()]
    assert not [argument for argument in lines if CANARY in argument]
    assert CANARY not in (folder / "engine.log").read_text()
    assert CANARY not in "".join(capfd.readouterr())


class _Forwarder(socketserver.BaseRequestHandler):
    """Forwards a connection to the API server."""

    target = ("", 0)

    def handle(self) -> None:
        with socket.create_connection(self.target) as server:
            back = threading.Thread(target=_copy, args=[server, self.request])
            back.start()
            _copy(self.request, server)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_cluster_that_was_unreachable_is_used_when_it_is_reachable(
    open_stacks: OpenStacks, control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that could not reach its cluster rejects all later requests.

    So the engine must start a new provider.
    """
    port = free_port()
    kubeconfig = tmp_path / "forwarded.kubeconfig"
    kubeconfig.write_text(
        control_plane.kubeconfig.read_text().replace(control_plane.url, f"https://{HOST}:{port}")
    )
    stacks, command = open_stacks()
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    with pytest.raises(ClusterUnreachable, match="unreachable"):
        stacks.up(desired("unreached"), "spec generation 1")
    monkeypatch.setattr(_Forwarder, "target", (HOST, int(control_plane.url.rpartition(":")[2])))
    with socketserver.ThreadingTCPServer((HOST, port), _Forwarder) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert stacks.up(desired("unreached"), "spec generation 1").version == 2
        server.shutdown()
        assert command.commands == []
        assert stacks.engine is not None
        stacks.engine.close()
