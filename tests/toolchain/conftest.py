"""A machine of its own for each test: an empty cache, an empty PATH to put things on, and a Go that works."""

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
    """Go's own cache, found before the tests move the cache folder: compiling its library anew is slow."""
    return subprocess.check_output([go, "env", "GOCACHE"], text=True).strip()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, go_cache: str) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi-home"))
    monkeypatch.setenv("GOCACHE", go_cache)
    return tmp_path / "cache" / "tenancy"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, go: Path) -> Path:
    """The folder that is first on PATH; behind it there is a shell and Go, and none of the tools."""
    folder = tmp_path / "programs"
    folder.mkdir()
    behind = tmp_path / "system"
    behind.mkdir()
    for program in ("sh", "sleep", "cat"):
        (behind / program).symlink_to(f"/bin/{program}")
    (behind / "go").symlink_to(go)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{behind}")
    return folder


@pytest.fixture
def add_program(programs: Path) -> AddProgram:
    def add(name: str, script: str) -> Path:
        program = programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program

    return add


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    """A Go module without dependencies whose program says hello."""
    folder = tmp_path / "hello"
    folder.mkdir()
    (folder / "go.mod").write_text("module example.test/hello\n\ngo 1.26\n")
    (folder / "main.go").write_text('package main\n\nfunc main() { println("hello") }\n')
    return folder


@pytest.fixture
def base_python() -> str:
    """The Python outside the virtual environment: what a user starts `./dev` with."""
    return str(sys._base_executable)  # type: ignore[attr-defined]
