"""Where a tool comes from: PATH, cache, release, build. The tools here are scripts that print a version."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from embedded.toolchain import probe
from embedded.toolchain import resolver as toolchain
from embedded.toolchain.build import Build
from embedded.toolchain.release import Releases
from embedded.toolchain.resolver import cached_path, ensure_tools, path_with, present, present_tools
from embedded.toolchain.tools import TEST_TOOLS, TOOLS, Tool
from tests.toolchain.conftest import AddProgram

ETCD, PULUMI, HOST = TOOLS["etcd"], TOOLS["pulumi"], TOOLS["pulumi-language-python"]
PROVIDER = TOOLS["pulumi-resource-kubernetes"]


def put_in_cache(tool: Tool) -> Path:
    binary = cached_path(tool)
    binary.parent.mkdir(parents=True)
    for name in tool.files:
        binary.with_name(name).write_text("#!/bin/sh\n")
        binary.with_name(name).chmod(0o755)
    return binary


def test_fitting_binary_on_path_comes_before_the_cache(add_program: AddProgram) -> None:
    put_in_cache(ETCD)
    on_path = add_program("etcd", f'echo "etcd Version: {ETCD.version}"')
    assert present(ETCD) == on_path


def test_binary_of_another_minor_is_passed_over(add_program: AddProgram) -> None:
    cached = put_in_cache(ETCD)
    add_program("etcd", 'echo "etcd Version: 3.4.1"')
    assert present(ETCD) == cached


@pytest.mark.usefixtures("programs")
def test_cached_tool_without_its_companion_is_not_there() -> None:
    cached = put_in_cache(HOST)
    assert present(HOST) == cached
    cached.with_name("pulumi-language-python-exec").unlink()
    assert present(HOST) is None


@pytest.mark.parametrize("script", ["exit 1", "echo no version here", "sleep 600", 'kill -9 "$$"'])
def test_binary_that_cannot_be_asked_does_not_fit(
    add_program: AddProgram, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(probe, "PROBE_TIMEOUT_S", 0.5)
    add_program("etcd", script)
    assert present(ETCD) is None


def test_file_that_is_no_program_does_not_fit(programs: Path) -> None:
    (programs / "etcd").write_bytes(b"\x7fELF, but not really")
    (programs / "etcd").chmod(0o755)
    assert present(ETCD) is None


@pytest.mark.parametrize(
    ("name", "found", "is_accepted"),
    [
        ("kubectl", (1, 20, 0), True),
        ("kubectl", (2, 0, 0), False),
        ("kube-apiserver", (1, 35, 0), True),
        ("kube-apiserver", (1, 36, 0), False),
        ("kube-scheduler", (1, 34, 9), False),
        ("pulumi", (1, 36, 0), True),
        ("pulumi", (1, 34, 9), False),
        ("pulumi", (2, 35, 4), False),
        ("pulumi-resource-kubernetes", (1, 35, 4), True),
        ("pulumi-resource-kubernetes", (1, 35, 5), False),
    ],
)
def test_each_tool_has_its_own_idea_of_a_fitting_version(
    name: str, found: probe.Version, is_accepted: bool
) -> None:
    assert probe.is_accepted(name, found, wanted=(1, 35, 4)) is is_accepted


def test_pulumi_is_taken_with_the_language_host_beside_it(add_program: AddProgram) -> None:
    pulumi = add_program("pulumi", f"echo v{PULUMI.version}")
    assert present(PULUMI) is None, "without a language host it cannot run a program"
    host = add_program("pulumi-language-python", "exit 1")
    assert present(PULUMI) is None, "the language host does not work without its script"
    add_program("pulumi-language-python-exec", "exit 1")
    assert present(PULUMI) == pulumi
    assert present(HOST) == host


def test_language_host_of_an_old_pulumi_is_not_taken(add_program: AddProgram) -> None:
    add_program("pulumi", "echo v3.1.0")
    for name in HOST.files:
        add_program(name, "exit 1")
    assert present(HOST) is None


@pytest.mark.usefixtures("programs")
def test_provider_installed_by_pulumi_is_used_once_it_is_complete(tmp_path: Path) -> None:
    folder = tmp_path / "pulumi-home" / "plugins" / f"resource-kubernetes-v{PROVIDER.version}"
    folder.mkdir(parents=True)
    (folder / PROVIDER.name).touch(0o755)
    unfinished = folder.with_name(f"{folder.name}.partial")
    unfinished.touch()
    assert present(PROVIDER) is None
    unfinished.unlink()
    assert present(PROVIDER) == folder / PROVIDER.name


def test_provider_is_asked_for_its_version_over_its_own_protocol(tools: dict[str, Path]) -> None:
    binary = tools[PROVIDER.name]
    assert probe.is_fitting(PROVIDER, binary)
    assert not probe.is_fitting(replace(PROVIDER, version="4.0.1"), binary)


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "echo 1", "sleep 600"])
def test_provider_that_does_not_answer_is_not_used(
    add_program: AddProgram, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(probe, "PROBE_TIMEOUT_S", 0.5)
    add_program(PROVIDER.name, script)
    assert present(PROVIDER) is None


@pytest.mark.usefixtures("programs")
def test_release_comes_before_a_build_and_neither_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def put(tool: Tool, folder: Path) -> None:
        for name in tool.files:
            (folder / name).touch(0o755)

    def fetch(_: Releases, tool: Tool, folder: Path) -> bool:
        made.append(f"fetch {tool.name}")
        if tool == ETCD:
            put(tool, folder)
        return tool == ETCD

    def build_tools(tools: Sequence[Tool], provide: Callable[[Tool, Build], object]) -> None:
        made.append(f"build {', '.join(tool.name for tool in tools)}")
        for tool in tools:
            provide(tool, put)

    monkeypatch.setattr(Releases, "fetch", fetch)
    monkeypatch.setattr(toolchain, "build_tools", build_tools)
    names = [HOST.name, ETCD.name, PROVIDER.name]
    assert present_tools(names) == {}
    assert ensure_tools(names) == {name: cached_path(TOOLS[name]) for name in names}
    # All that have to be built are known before the first of them is: progress is over all of them.
    fetches = [f"fetch {name}" for name in names]
    assert made == [*fetches, f"build {HOST.name}, {PROVIDER.name}"]
    assert ensure_tools(names) == present_tools(names) == {name: cached_path(TOOLS[name]) for name in names}
    assert len(made) == 4


def test_path_finds_each_tool_and_this_python_and_keeps_the_order_of_the_rest(
    add_program: AddProgram,
) -> None:
    add_program("python", "echo not the one")
    add_program("kubectl", f"echo v{TOOLS['kubectl'].version}")
    kubectl = present(TOOLS["kubectl"])
    assert kubectl is not None
    tools = {"kubectl": kubectl, "etcd": put_in_cache(ETCD)}
    path = path_with(tools)
    assert {name: shutil.which(name, path=path) for name in tools} == {n: str(p) for n, p in tools.items()}
    assert Path(shutil.which("python", path=path) or "").parent == Path(sys.executable).parent
    assert path.endswith(os.environ["PATH"])


@pytest.mark.usefixtures("programs")
def test_only_who_asks_for_a_tool_of_the_tests_gets_it() -> None:
    for tool in (*TOOLS.values(), *TEST_TOOLS.values()):
        put_in_cache(tool)
    assert ensure_tools().keys() == TOOLS.keys()
    assert ensure_tools(["gatekeeper"]) == {"gatekeeper": cached_path(TEST_TOOLS["gatekeeper"])}
