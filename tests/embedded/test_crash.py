"""After a crash of whoever started a control plane, no process of it is left."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import embedded
from embedded.controlplane.plane import ControlPlane

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


@contextmanager
def owner_of_a_control_plane(tools: dict[str, Path], folder: Path) -> Iterator[tuple[int, dict[str, int]]]:
    """A Python program of its own that has started one: its process id, and those of the plane."""
    names = json.dumps({name: str(path) for name, path in tools.items()})
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, names, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout is not None
        yield owner.pid, json.loads(owner.stdout.readline())


def test_killed_parent_leaves_no_process(
    tools: dict[str, Path], tmp_path: Path, alive: Alive, eventually: Eventually
) -> None:
    with owner_of_a_control_plane(tools, tmp_path / "plane") as (owner, pids):
        assert len(alive(pids.values())) == len(pids)
        os.kill(owner, signal.SIGKILL)
        eventually(lambda: not alive(pids.values()))


def test_killed_guard_leaves_no_process(
    tools: dict[str, Path], tmp_path: Path, alive: Alive, eventually: Eventually
) -> None:
    with owner_of_a_control_plane(tools, tmp_path / "plane") as (_, pids):
        os.kill(pids["guard"], signal.SIGKILL)
        eventually(lambda: not alive(pids.values()))


def test_folder_of_a_killed_parent_can_be_used_at_once(tools: dict[str, Path], tmp_path: Path) -> None:
    with owner_of_a_control_plane(tools, tmp_path / "plane") as (owner, _):
        os.kill(owner, signal.SIGKILL)
        with ControlPlane(tools, tmp_path / "plane", is_throw_away=True) as plane:
            plane.check()
