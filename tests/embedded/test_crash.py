"""If the process that started a control plane is killed, all processes of the control plane exit."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import psutil
import pytest

import embedded
from embedded.controlplane.plane import ControlPlane
from embedded.controlplane.start_errors import ControlPlaneError

ROOT = Path(embedded.__file__).parents[1]

Alive = Callable[[Iterable[int]], list[int]]
Eventually = Callable[[Callable[[], object]], None]

OWNER = """
import json, sys
from pathlib import Path
from embedded.controlplane.plane import ControlPlane

tools = {name: Path(path) for name, path in json.loads(sys.argv[1]).items()}
plane = ControlPlane(tools, Path(sys.argv[2]), is_throw_away=True, has_nodes=True)
plane.start()
print(json.dumps(plane.pids), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def successor(
    tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, int], ControlPlane]]:
    """The process IDs of a control plane, and a new control plane in the same folder.

    The process that had started the first control plane was killed.
    """
    folder = tmp_path_factory.mktemp("crash") / "plane"
    tool_paths = json.dumps({name: str(path) for name, path in tools.items()})
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, tool_paths, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout is not None
        pids = json.loads(owner.stdout.readline())
        assert all(psutil.pid_exists(pid) for pid in pids.values())
        os.kill(owner.pid, signal.SIGKILL)
        with ControlPlane(tools, folder, is_throw_away=True, has_nodes=True) as plane:
            plane.check()
            yield pids, plane


def test_killed_parent_leaves_no_process_and_its_folder_can_be_used_at_once(
    successor: tuple[dict[str, int], ControlPlane], alive: Alive
) -> None:
    pids, _ = successor
    assert len(pids) == 6
    assert alive(pids.values()) == []


def test_process_that_dies_is_named_and_a_killed_guard_leaves_none(
    successor: tuple[dict[str, int], ControlPlane], alive: Alive, eventually: Eventually
) -> None:
    _, plane = successor
    for name in ("kwok", "kube-scheduler", "kube-controller-manager"):
        os.kill(plane.pids[name], signal.SIGKILL)
        with pytest.raises(ControlPlaneError, match=f"{name} ended with exit code -9"):
            plane.check(timeout_s=30)
    left = plane.pids
    assert left.keys() == {"guard", "etcd", "kube-apiserver"}
    assert len(alive(left.values())) == len(left)
    os.kill(left["guard"], signal.SIGKILL)
    eventually(lambda: not alive(left.values()))
    with pytest.raises(ControlPlaneError, match="the guard process was killed"):
        plane.check(timeout_s=30)
