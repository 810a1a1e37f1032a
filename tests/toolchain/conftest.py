"""An isolated environment for each test: an empty cache folder, a PATH without tools, and a working Go."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded.toolchain.golang import ensure_go
from embedded.toolchain.tools import MODULES

AddProgram = Callable[[str, str], Path]


@pytest.fixture(scope="session")
def go() -> Path:
    return ensure_go(MODULES / "etcd")


@pytest.fixture(scope="session")
def go_cache(go: Path) -> str:
    """The path of Go's build cache.

    Tests share the cache, because it takes long to compile the standard library.
    """
    return subprocess.check_output([go, "env", "GOCACHE"], text=True).strip()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, go_cache: str) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi-home"))
    monkeypatch.setenv("GOCACHE", go_cache)
    return tmp_path / "cache" / "tenancy"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, go: Path) -> Path:
    """The first folder on PATH. The second folder on PATH contains a shell and Go, but none of the tools."""
    folder = tmp_path / "programs"
    folder.mkdir()
    system = tmp_path / "system"
    system.mkdir()
    for program in ("sh", "sleep", "cat"):
        (system / program).symlink_to(f"/bin/{program}")
    (system / "go").symlink_to(go)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{system}")
    return folder


@pytest.fixture
def add_program(programs: Path) -> AddProgram:
    """A function that writes a shell script to the first folder on PATH."""

    def add(name: str, script: str) -> Path:
        program = programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program

    return add


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    """The folder of a Go module. The module has no dependencies, and its program prints hello."""
    folder = tmp_path / "hello"
    folder.mkdir()
    (folder / "go.mod").write_text("module example.test/hello\n\ngo 1.26\n")
    (folder / "main.go").write_text('package main\n\nfunc main() { println("hello") }\n')
    return folder


@pytest.fixture
def base_python() -> str:
    """The Python interpreter outside of the virtual environment.

    Users start `./dev` with this interpreter.
    """
    return str(sys._base_executable)  # type: ignore[attr-defined]
