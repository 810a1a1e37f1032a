"""Builds a small module with the real Go."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

import pytest

from embedded.environment import ROOT
from embedded.errors import SetupFailed
from embedded.progress import Progress
from embedded.toolchain import build
from embedded.toolchain.build import build_tools
from embedded.toolchain.resolver import cached_path, ensure_cached
from embedded.toolchain.tools import ModuleFile, Tool
from tests.toolchain.conftest import AddProgram

BUILD_SCRIPT = """
import sys
from pathlib import Path
from embedded.cli import unwind_on_signals
from embedded.toolchain.build import build_tools
from embedded.toolchain.resolver import cached_path, ensure_cached
from embedded.toolchain.tools import Tool

unwind_on_signals()
tool = Tool("hello", "1.0.0", Path(sys.argv[1]), ".")
build_tools([tool], ensure_cached)
print(cached_path(tool))
"""


def hello_tool(folder: Path) -> Tool:
    return Tool("hello", "1.0.0", folder, ".")


def build_tool(tool: Tool) -> Path:
    build_tools([tool], ensure_cached)
    return cached_path(tool)


def start_build(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILD_SCRIPT, str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie stays in the process table until its parent waits for it. The parent may be the init process.
    state = subprocess.run(["/bin/ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


@pytest.mark.usefixtures("programs")
def test_built_tool_runs_and_nothing_else_is_left(hello: Path) -> None:
    binary = build_tool(hello_tool(hello))
    assert subprocess.run([binary], capture_output=True, text=True, check=True).stderr == "hello\n"
    assert [path.name for path in binary.parent.iterdir()] == ["hello"]
    assert {path.name for path in hello.iterdir()} == {"go.mod", "main.go"}


@pytest.mark.usefixtures("programs")
def test_embeds_are_compiled_in_and_companions_lie_beside(hello: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "sub").mkdir(parents=True)
    (other / "go.mod").write_text("module example.test/other\n\ngo 1.26\n")
    (other / "sub" / "other.go").write_text("package sub\n")
    (other / "sub" / "greeting.txt").write_text("good day")
    (hello / "go.mod").write_text(
        "module example.test/hello\n\ngo 1.26\n\nrequire example.test/other v1.0.0\n\n"
        f"replace example.test/other => {other}\n"
    )
    (hello / "main.go").write_text(
        'package main\n\nimport (\n\t_ "embed"\n\t_ "example.test/other/sub"\n)\n\n'
        "//go:embed greeting.txt\nvar greeting string\n\nfunc main() { println(greeting) }\n"
    )
    file = ModuleFile(hello, "example.test/other", "sub/greeting.txt")
    binary = build_tool(Tool("hello", "1.0.0", hello, ".", embeds=(file,), companions=(file,)))
    assert subprocess.run([binary], capture_output=True, text=True, check=True).stderr == "good day\n"
    assert {path.name for path in binary.parent.iterdir()} == {"hello", "greeting.txt"}


@pytest.mark.usefixtures("programs")
def test_failed_build_shows_the_compiler_and_leaves_no_binary(hello: Path, cache: Path) -> None:
    (hello / "main.go").write_text("package main\n\nfunc main() { missing() }\n")
    with pytest.raises(SetupFailed, match=r"(?s)undefined: missing.*hello 1\.0\.0 could not be built"):
        build_tool(hello_tool(hello))
    assert [path for path in (cache / "tools").iterdir() if path.is_dir()] == []


@pytest.mark.usefixtures("programs")
def test_build_starts_afresh_over_what_a_killed_one_left(hello: Path) -> None:
    folder = cached_path(hello_tool(hello)).parent
    (folder.parent / f"{folder.name}.partial" / "source").mkdir(parents=True)
    (folder.parent / f"{folder.name}.partial" / "hello").write_text("half a binary")
    binary = build_tool(hello_tool(hello))
    subprocess.run([binary], capture_output=True, check=True)
    assert not folder.with_name(f"{folder.name}.partial").exists()


def test_two_at_once_build_once(hello: Path, add_program: AddProgram, go: Path, tmp_path: Path) -> None:
    add_program("go", f'echo "$1" >> {tmp_path}/calls\nexec {go} "$@"')
    both = [start_build(hello), start_build(hello)]
    outputs = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert {stdout.strip() for stdout, _ in outputs} == {str(cached_path(hello_tool(hello)))}
    assert (tmp_path / "calls").read_text().split().count("build") == 1


class RecordedProgress(Progress):
    """Records every value of `detail` instead of printing it."""

    details: ClassVar[list[str]] = []

    def __init__(self, title: str) -> None:
        super().__init__(title, StringIO())

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "detail" and value:
            self.details.append(str(value))


@pytest.mark.usefixtures("programs")
def test_progress_is_a_share_of_what_go_has_to_compile_for_all_tools(
    hello: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_tool(hello_tool(hello))  # Now Go's standard library is in its build cache.
    for name in ("shared", "other"):
        (hello / name).mkdir()
    # The content is unique, so that Go's build cache does not contain the package.
    (hello / "shared" / "shared.go").write_text(f'package shared\n\nvar Where = "{uuid4()}"\n')
    program = 'package main\n\nimport "example.test/hello/shared"\n\nfunc main() { println(shared.Where) }\n'
    for folder in (hello, hello / "other"):
        (folder / "main.go").write_text(program)
    monkeypatch.setattr(build, "Progress", RecordedProgress)
    monkeypatch.setattr(RecordedProgress, "details", [])
    build_tools([hello_tool(hello), Tool("other", "1.0.0", hello, "./other")], ensure_cached)
    # Each of the 3 packages is one unit of work, and linking a tool is 36 units. The first tool compiles 2
    # packages, and the second tool compiles 1 package.
    shares = [detail.partition(",")[0] for detail in RecordedProgress.details]
    assert shares == [
        *(f"{share} % (hello)" for share in (0, 1, 2)),
        "50 %",
        *(f"{share} % (other)" for share in (50, 52)),
        "99 %",
        "hello",
    ]


def test_two_modules_are_built_at_once(
    hello: Path, add_program: AddProgram, go: Path, tmp_path: Path
) -> None:
    """Each build waits until the other build has started."""
    started = tmp_path / "started"
    started.mkdir()
    add_program(
        "go",
        f'[ "$1" = build ] || exec {go} "$@"\n'
        f"echo > {started}/$$\n"
        f"until [ $(/bin/ls {started} | /usr/bin/wc -l) = 2 ]; do sleep 0.02; done\n"
        f'exec {go} "$@"',
    )
    another = tmp_path / "another"
    shutil.copytree(hello, another)
    tools = [hello_tool(hello), Tool("another", "1.0.0", another, ".")]
    build_tools(tools, ensure_cached)
    for tool in tools:
        subprocess.run([cached_path(tool)], capture_output=True, check=True)


def test_failed_build_ends_the_others_and_names_itself(
    hello: Path, add_program: AddProgram, go: Path, tmp_path: Path, cache: Path
) -> None:
    compiler = tmp_path / "compiler"
    add_program(
        "go",
        f'[ "$1" = build ] || exec {go} "$@"\n'
        f'case "$PWD" in *broken-*) until [ -e {compiler} ]; do sleep 0.02; done; exec {go} "$@";; esac\n'
        f"sleep 600 &\necho $! > {compiler}.new\n/bin/mv {compiler}.new {compiler}\nwait",
    )
    broken = tmp_path / "broken"
    shutil.copytree(hello, broken)
    (broken / "main.go").write_text("package main\n\nfunc main() { missing() }\n")
    tools = [hello_tool(hello), Tool("broken", "1.0.0", broken, ".")]
    with pytest.raises(SetupFailed, match=r"(?s)undefined: missing.*broken 1\.0\.0 could not be built"):
        build_tools(tools, ensure_cached)
    wait_until(lambda: not is_alive(int(compiler.read_text())))
    assert [path for path in (cache / "tools").iterdir() if path.is_dir()] == []


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("code", ["func main() { missing() }", 'import "example.test/missing"'])
def test_failed_build_of_an_optional_tool_is_reported_after_the_others(
    hello: Path, tmp_path: Path, code: str
) -> None:
    """Each `code` has a fault. The compiler finds the first fault.

    `go list` finds the second fault, before a tool is compiled.
    """
    (hello / "optional").mkdir()
    (hello / "optional" / "main.go").write_text(f"package main\n\n{code}\n")
    other = tmp_path / "other"
    shutil.copytree(hello, other)
    optional = Tool("optional", "1.0.0", hello, "./optional", is_optional=True)
    tools = [hello_tool(hello), Tool("other", "1.0.0", other, ".")]
    with pytest.raises(SetupFailed, match=r"(?s)missing.*optional 1\.0\.0 could not be built"):
        build_tools([optional, *tools], ensure_cached)
    for tool in tools:
        subprocess.run([cached_path(tool)], capture_output=True, check=True)
    assert not cached_path(optional).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_build_ends_its_processes_and_leaves_nothing(
    hello: Path, add_program: AddProgram, go: Path, tmp_path: Path, cache: Path, number: signal.Signals
) -> None:
    compiler = tmp_path / "compiler"
    add_program(
        "go",
        f'[ "$1" = build ] || exec {go} "$@"\n'
        f"sleep 600 &\necho $! > {compiler}.new\n/bin/mv {compiler}.new {compiler}\nwait",
    )
    process = start_build(hello)
    wait_until(compiler.exists)
    process.send_signal(number)
    process.communicate()
    assert process.returncode != 0
    wait_until(lambda: not is_alive(int(compiler.read_text())))
    assert [path for path in (cache / "tools").iterdir() if path.is_dir()] == []
