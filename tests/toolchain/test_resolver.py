"""A tool comes from PATH, the cache, a release or a build.

In these tests, tools are scripts that print a version.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from embedded.toolchain import probe
from embedded.toolchain import resolver as toolchain
from embedded.toolchain.build import EnsureCached
from embedded.toolchain.release import Releases
from embedded.toolchain.resolver import cached_path, ensure_tools, path_with, present_tool, present_tools
from embedded.toolchain.tools import ENGINE, TEST_TOOLS, TOOLS, Tool
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
    assert present_tool(ETCD) == on_path


def test_binary_of_another_minor_is_passed_over(add_program: AddProgram) -> None:
    cached = put_in_cache(ETCD)
    add_program("etcd", 'echo "etcd Version: 3.4.1"')
    assert present_tool(ETCD) == cached


@pytest.mark.usefixtures("programs")
def test_cached_tool_without_its_companion_is_not_there() -> None:
    cached = put_in_cache(HOST)
    assert present_tool(HOST) == cached
    cached.with_name("pulumi-language-python-exec").unlink()
    assert present_tool(HOST) is None


@pytest.mark.parametrize("script", ["exit 1", "echo no version here", "sleep 600", 'kill -9 "$$"'])
def test_binary_that_cannot_be_asked_does_not_fit(
    add_program: AddProgram, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(probe, "PROBE_TIMEOUT_S", 0.5)
    add_program("etcd", script)
    assert present_tool(ETCD) is None


def test_file_that_is_no_program_does_not_fit(programs: Path) -> None:
    (programs / "etcd").write_bytes(b"\x7fELF, but not really")
    (programs / "etcd").chmod(0o755)
    assert present_tool(ETCD) is None


@pytest.mark.parametrize(
    ("name", "actual", "is_compatible"),
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
def test_each_tool_has_its_own_rule_for_compatible_versions(
    name: str, actual: probe.Version, is_compatible: bool
) -> None:
    assert probe.is_compatible_version(name, actual, pinned=(1, 35, 4)) is is_compatible


def test_pulumi_is_taken_with_the_language_host_beside_it(add_program: AddProgram) -> None:
    pulumi = add_program("pulumi", f"echo v{PULUMI.version}")
    assert present_tool(PULUMI) is None, "without a language host it cannot run a program"
    host = add_program("pulumi-language-python", "exit 1")
    assert present_tool(PULUMI) is None, "the language host does not work without its script"
    add_program("pulumi-language-python-exec", "exit 1")
    assert present_tool(PULUMI) == pulumi
    assert present_tool(HOST) == host


def test_language_host_of_an_old_pulumi_is_not_taken(add_program: AddProgram) -> None:
    add_program("pulumi", "echo v3.1.0")
    for name in HOST.files:
        add_program(name, "exit 1")
    assert present_tool(HOST) is None


@pytest.mark.usefixtures("programs")
def test_provider_installed_by_pulumi_is_used_once_it_is_complete(tmp_path: Path) -> None:
    folder = tmp_path / "pulumi-home" / "plugins" / f"resource-kubernetes-v{PROVIDER.version}"
    folder.mkdir(parents=True)
    (folder / PROVIDER.name).touch(0o755)
    partial_marker = folder.with_name(f"{folder.name}.partial")
    partial_marker.touch()
    assert present_tool(PROVIDER) is None
    partial_marker.unlink()
    assert present_tool(PROVIDER) == folder / PROVIDER.name


def test_provider_is_asked_for_its_version_over_its_own_protocol(tools: dict[str, Path]) -> None:
    binary = tools[PROVIDER.name]
    assert probe.is_compatible(PROVIDER, binary)
    assert not probe.is_compatible(replace(PROVIDER, version="4.0.1"), binary)


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "echo 1", "sleep 600"])
def test_provider_that_does_not_answer_is_not_used(
    add_program: AddProgram, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(probe, "PROBE_TIMEOUT_S", 0.5)
    add_program(PROVIDER.name, script)
    assert present_tool(PROVIDER) is None


@pytest.mark.usefixtures("programs")
def test_release_comes_before_a_build_and_neither_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def write_files(tool: Tool, folder: Path) -> None:
        for name in tool.files:
            (folder / name).touch(0o755)

    def fetch(_: Releases, tool: Tool, folder: Path) -> bool:
        calls.append(f"fetch {tool.name}")
        if tool == ETCD:
            write_files(tool, folder)
        return tool == ETCD

    def build_tools(tools: Sequence[Tool], ensure_cached: EnsureCached) -> None:
        calls.append(f"build {', '.join(tool.name for tool in tools)}")
        for tool in tools:
            ensure_cached(tool, write_files)

    monkeypatch.setattr(Releases, "fetch", fetch)
    monkeypatch.setattr(toolchain, "build_tools", build_tools)
    names = [HOST.name, ETCD.name, PROVIDER.name]
    assert present_tools(names) == {}
    assert ensure_tools(names) == {name: cached_path(TOOLS[name]) for name in names}
    # One call builds all tools, so that the progress display includes all tools.
    fetches = [f"fetch {name}" for name in names]
    assert calls == [*fetches, f"build {HOST.name}, {PROVIDER.name}"]
    assert ensure_tools(names) == present_tools(names) == {name: cached_path(TOOLS[name]) for name in names}
    assert len(calls) == 4


def test_engine_on_path_is_not_used_because_its_code_is_unknown(add_program: AddProgram) -> None:
    engine = TOOLS[ENGINE]
    add_program(ENGINE, f"echo v{engine.version}")
    assert present_tool(engine) is None
    cached = put_in_cache(engine)
    assert present_tool(engine) == cached


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("names", "released", "built"),
    [
        ([PULUMI.name, ETCD.name], [], [PULUMI.name, ETCD.name, ENGINE]),
        ([PULUMI.name, ETCD.name], [PULUMI.name], [ETCD.name]),
        ([ETCD.name], [], [ETCD.name]),
    ],
    ids=["CLI is built", "CLI is released", "CLI is present"],
)
def test_engine_is_built_together_with_the_cli(
    monkeypatch: pytest.MonkeyPatch, names: list[str], released: list[str], built: list[str]
) -> None:
    calls: list[str] = []

    def build_tools(tools: Sequence[Tool], _: EnsureCached) -> None:
        calls.extend(tool.name for tool in tools)

    monkeypatch.setattr(Releases, "fetch", lambda _, tool, __: tool.name in released)
    monkeypatch.setattr(toolchain, "build_tools", build_tools)
    paths = ensure_tools(names, built_together=[ENGINE])
    assert calls == built
    assert paths.keys() == {*names, *built}


@pytest.mark.usefixtures("programs")
def test_present_engine_is_returned_and_not_built_again() -> None:
    paths = {tool.name: put_in_cache(tool) for tool in (ETCD, TOOLS[ENGINE])}
    assert ensure_tools([ETCD.name], built_together=[ENGINE]) == paths


def test_path_finds_each_tool_and_this_python_and_keeps_the_order_of_the_rest(
    add_program: AddProgram,
) -> None:
    add_program("python", "echo not the one")
    add_program("kubectl", f"echo v{TOOLS['kubectl'].version}")
    kubectl = present_tool(TOOLS["kubectl"])
    assert kubectl is not None
    tools = {"kubectl": kubectl, "etcd": put_in_cache(ETCD)}
    path = path_with(tools)
    assert {name: shutil.which(name, path=path) for name in tools} == {n: str(p) for n, p in tools.items()}
    assert Path(shutil.which("python", path=path) or "").parent == Path(sys.executable).parent
    assert path.endswith(os.environ["PATH"])


@pytest.mark.usefixtures("programs")
def test_tools_of_the_tests_are_returned_only_on_request() -> None:
    for tool in (*TOOLS.values(), *TEST_TOOLS.values()):
        put_in_cache(tool)
    assert ensure_tools().keys() == TOOLS.keys()
    assert ensure_tools(["gatekeeper"]) == {"gatekeeper": cached_path(TEST_TOOLS["gatekeeper"])}
