"""The `tenancy` command of a session: on the PATH that `./dev env` prints, wherever one stands."""

import os
import subprocess
from pathlib import Path

from tests.embedded.dev import Dev


def test_tenancy_is_on_the_path_and_speaks_to_the_session(dev: Dev, tmp_path: Path) -> None:
    dev.succeeds("run", "--detach")
    # Nothing in the folder where one stands is taken for a part of the command.
    (tmp_path / "cli").mkdir()
    (tmp_path / "yaml.py").write_text("raise SystemExit('the wrong module')")

    def tenancy(*arguments: str) -> str:
        return subprocess.run(
            ["tenancy", *arguments],
            cwd=tmp_path,
            env={**os.environ, **dev.variables()},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert "There are no tenants." in tenancy("list")
    lines = tenancy("doctor").splitlines()
    assert all(line.startswith("ok ") for line in lines), lines
