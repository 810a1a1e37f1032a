"""`ensure_go` selects a Go toolchain. In these tests, `go` programs are scripts that print a version."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from embedded.toolchain import golang
from embedded.toolchain.golang import ensure_go, go_environment, go_version, run_go
from embedded.toolchain.tools import MODULES
from tests.toolchain.conftest import AddProgram


@pytest.mark.parametrize(
    ("text", "version"),
    [("module m\n\ngo 1.26\n", (1, 26)), ("go1.26.8\n", (1, 26)), ("go 1.9.1", (1, 9)), ("", (0, 0))],
)
def test_version_is_read_where_go_writes_it(text: str, version: tuple[int, int]) -> None:
    assert go_version(text) == version


def test_new_go_on_path_is_used(add_program: AddProgram) -> None:
    go = add_program("go", "echo go1.99.0")
    assert ensure_go(MODULES / "etcd") == go


@pytest.mark.parametrize("script", ["echo go1.9.2", "exit 1"])
def test_go_that_is_too_old_or_broken_is_passed_over(
    add_program: AddProgram, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    go = add_program("go", script)
    monkeypatch.setattr(golang, "_ensure_installed_go", lambda: "the pinned one")
    assert ensure_go(MODULES / "etcd") != go


def test_settings_of_the_caller_do_not_change_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"GOOS": "plan9", "GOFLAGS": "-mod=vendor", "GOPROXY": "https://example.test"}.items():
        monkeypatch.setenv(name, value)
    environment = go_environment()
    assert "GOOS" not in environment
    assert environment["GOFLAGS"] == "-buildvcs=false"
    assert environment["GOPROXY"] == "https://example.test"


def test_signal_during_the_start_of_go_leaves_no_process(
    add_program: AddProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_program("go", "sleep 600")
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def interrupted(*arguments: Any, **options: Any) -> "subprocess.Popen[str]":
        """Start the process, and then raise SIGINT before Popen returns."""
        started.append(popen(*arguments, **options))
        signal.raise_signal(signal.SIGINT)
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_go(["go", "build"], tmp_path, lambda _: None)
    (process,) = started
    assert process.returncode == -signal.SIGKILL
