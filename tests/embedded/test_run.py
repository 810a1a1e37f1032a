"""An instance in the background: `./dev run --detach`, `./dev env`, `./dev pid` and `./dev stop`."""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from embedded.controlplane.loopback import is_ok
from embedded.environment import FOLDER_VARIABLE, ROOT
from embedded.run.commands import pid
from embedded.run.environment_variables import connection_text
from embedded.run.record import InstanceRecord
from embedded.toolchain.tools import CONTROL_PLANE_TOOLS, ENGINE, TOOLS
from tests.embedded.dev import COMMAND, Dev

Alive = Callable[[Iterable[int]], list[int]]
Eventually = Callable[[Callable[[], object]], None]


@pytest.fixture(scope="module")
def detached(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    assert tools
    dev = Dev(tmp_path_factory.mktemp("detached"))
    dev.succeeds("run", "--detach")
    yield dev
    dev.succeeds("stop")


def test_env_reaches_the_cluster_and_the_stacks(detached: Dev) -> None:
    variables = detached.variables()
    assert variables["KUBECONFIG"] == str(detached.folder.control_plane / "admin.kubeconfig")
    environment = {**os.environ, **variables}
    for command in (["kubectl", "get", "tenants.platform.ai"], ["pulumi", "stack", "ls", "--all"]):
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


def test_env_and_run_tell_where_the_page_is(detached: Dev) -> None:
    page = detached.variables()["TENANCY_PAGE"]
    record = InstanceRecord.read(detached.folder.record)
    assert record is not None
    assert f"page        {page}/\n" in connection_text(record)
    with urllib.request.urlopen(f"{page}/metrics") as response:
        assert b"tenancy_tenants" in response.read()
    with urllib.request.urlopen(page) as response:
        assert response.headers["Content-Type"].startswith("text/html")


def test_watcher_runs_with_its_own_rights_only(detached: Dev) -> None:
    environment = {
        **os.environ,
        **detached.variables(),
        "KUBECONFIG": str(detached.folder.watcher_kubeconfig),
    }

    def kubectl(*arguments: str) -> str:
        command = ["kubectl", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout

    assert "system:serviceaccount:tenancy-system:tenancy-watcher" in kubectl("auth", "whoami")
    assert kubectl("auth", "can-i", "get", "secrets", "--all-namespaces").strip() == "no"


def test_pid_names_living_processes(
    detached: Dev, alive: Alive, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(detached.folder.root))
    for name in ("supervisor", *CONTROL_PLANE_TOOLS, "kube-scheduler", "kwok", "watcher"):
        assert pid(argparse.Namespace(name=name)) == 0
        assert alive([int(capsys.readouterr().out)]), name


def test_unknown_process_is_refused_with_the_known_ones(detached: Dev) -> None:
    result = detached("pid", "kubelet")
    assert result.returncode == 1
    assert "kubelet" in result.stderr
    assert "watcher" in result.stderr


@pytest.mark.parametrize("options", [["--once"], ["--detach"]])
def test_second_run_is_refused_and_says_how_to_stop_the_first(detached: Dev, options: list[str]) -> None:
    result = detached("run", *options)
    assert result.returncode == 1
    assert "./dev stop" in result.stderr


def test_killed_watcher_is_started_again(detached: Dev, alive: Alive, eventually: Eventually) -> None:
    first = int(detached.succeeds("pid", "watcher"))
    page = detached.variables()["TENANCY_PAGE"]
    os.kill(first, signal.SIGKILL)

    eventually(lambda: detached.running().get("watcher", first) != first)
    assert not alive([first])
    eventually(lambda: detached.folder.watcher_log.read_text().count('"started"') >= 2)
    assert detached.variables()["TENANCY_PAGE"] == page
    port = urlsplit(page).port
    assert port is not None
    eventually(lambda: is_ok(port, "/readyz"))


def test_tenancy_is_on_the_path_and_uses_the_instance(detached: Dev, tmp_path: Path) -> None:
    # The command must not import modules from the current folder.
    (tmp_path / "cli").mkdir()
    (tmp_path / "yaml.py").write_text("raise SystemExit('the wrong module')")
    environment = {**os.environ, **detached.variables()}

    def tenancy(*arguments: str) -> str:
        return subprocess.run(
            ["tenancy", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert "There are no tenants." in tenancy("list")
    lines = tenancy("doctor").splitlines()
    assert all(line.startswith("ok ") for line in lines), lines


def test_tools_that_come_later_are_used_and_stop_leaves_no_process(
    dev: Dev, tools: dict[str, Path], tmp_path: Path, alive: Alive, eventually: Eventually
) -> None:
    may_build = tmp_path / "may-build"
    wait = f"until [ -e {may_build} ]; do sleep 0.1; done"
    copies = f'case "$1" in */kwok) cp {tools["kwok"]} "$1" ;; *) cp {tools[ENGINE]} "$1" ;; esac'
    dev.lack("kwok", ENGINE, tools=tools, build=f"{wait}; {copies}")
    output = dev.succeeds("run", "--detach")
    assert (
        "Still being prepared: tenancy-engine, kwok. The watcher uses the Pulumi CLI until then. Pods stay"
        " Pending until then." in output
    )
    assert str(dev.folder.tools_log) in output
    eventually(lambda: "tools" in dev.running())
    eventually(lambda: "Building the tools" in dev.folder.tools_log.read_text())
    assert "kwok" not in dev.running()
    watcher = psutil.Process(int(dev.succeeds("pid", "watcher")))
    engine = Path(watcher.environ()["TENANCY_ENGINE_BINARY"])
    assert not engine.exists()
    hidden_kwok = shutil.which("kwok", path=dev.env["PATH"])
    assert shutil.which("kwok", path=dev.variables()["PATH"]) == hidden_kwok, "a shell does not wait for it"
    may_build.touch()
    eventually(lambda: "kwok" in dev.running())
    assert "tools" not in dev.running()
    assert subprocess.check_output([engine, "--version"], text=True) == f"v{TOOLS[ENGINE].version}\n"
    assert watcher.is_running(), "the watcher is not restarted for it"
    assert "prepared: tenancy-engine, kwok\n" in dev.folder.daemon_log.read_text()
    assert shutil.which("kwok", path=dev.variables()["PATH"]) != hidden_kwok
    pids = dev.pids()
    dev.succeeds("stop")
    assert alive(pids) == []
    assert not dev.folder.record.exists()
    assert (dev.folder.control_plane / "etcd").is_dir()


def test_killed_supervisor_leaves_no_obstacle_and_printed_commands_work_in_another_terminal(
    dev: Dev, alive: Alive, eventually: Eventually
) -> None:
    dev.succeeds("run", "--detach")
    pids = dev.pids()
    os.kill(int(dev.succeeds("pid", "supervisor")), signal.SIGKILL)
    eventually(lambda: not alive(pids))
    assert dev.folder.record.exists()
    assert "./dev run is not running" in dev("env").stderr
    commands = re.findall(r": (.*\./dev (?:env|stop).*)$", dev.succeeds("run", "--detach"), re.MULTILINE)
    assert len(commands) == 3
    pids = dev.pids()
    python = f"{shlex.quote(sys.executable)} -c {shlex.quote(COMMAND)} "
    terminal = {name: value for name, value in dev.env.items() if name != FOLDER_VARIABLE}
    # Run each command on its own.
    for command, printed in zip(commands, ("", "tenant.platform.ai/research created", ""), strict=True):
        shell = ["bash", "-c", command.replace("./dev ", python)]
        result = subprocess.run(shell, cwd=ROOT, env=terminal, capture_output=True, text=True, check=False)
        assert result.returncode == 0, (command, result.stderr)
        assert printed in result.stdout
    assert alive(pids) == []


def test_nothing_to_stop_is_no_failure(dev: Dev) -> None:
    assert "./dev run is not running" in dev.succeeds("stop")


def test_env_and_pid_without_an_instance_say_how_to_start_one(dev: Dev) -> None:
    for arguments in (["env"], ["pid", "watcher"]):
        result = dev(*arguments)
        assert (result.returncode, result.stdout) == (1, "")
        assert "./dev run --detach" in result.stderr


def test_instance_that_cannot_start_shows_the_end_of_its_log(dev: Dev) -> None:
    dev.folder.control_plane.mkdir(parents=True)
    (dev.folder.control_plane / "etcd").write_text("not a folder")
    result = dev("run", "--detach")
    assert result.returncode == 1
    assert "etcd ended with exit code 1" in result.stderr
    assert not dev.folder.record.exists()
