"""The Go code in this repository passes its tests and the checks of `./dev check`."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from embedded.toolchain.go_checks import is_formatted, run_in_copy, vet
from embedded.toolchain.tools import ENGINE, TOOLS


@pytest.mark.usefixtures("tools")
def test_go_tests_of_the_engine_pass() -> None:
    """The test needs the tools: their build compiles the packages that the Go tests import."""
    # `./dev check` already runs `go vet`. Without this option, `go test` would analyze all packages again.
    assert run_in_copy(TOOLS[ENGINE], "test", "-vet=off", "./...") == 0


def test_engine_prints_the_version_of_pulumi_that_it_is_built_from(tools: dict[str, Path]) -> None:
    output = subprocess.check_output([tools[ENGINE], "--version"], text=True)
    assert output == f"v{TOOLS[ENGINE].version}\n"


@pytest.mark.parametrize(
    ("code", "is_formatted_code", "is_vetted_code"),
    [
        ('func main() { println("a") }', True, True),
        ('func main() {  println("a") }', False, True),
        ('func main() { println("a"); return; println("b") }', True, False),
    ],
)
def test_checks_find_unformatted_and_suspicious_code(
    hello: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    code: str,
    is_formatted_code: bool,
    is_vetted_code: bool,
) -> None:
    folder = hello / "sub"
    folder.mkdir()
    (folder / "main.go").write_text(f"package main\n\n{code}\n")
    monkeypatch.setitem(TOOLS, ENGINE, replace(TOOLS[ENGINE], folder=hello))
    assert is_formatted() is is_formatted_code
    assert (str(folder / "main.go") in capfd.readouterr().out) is not is_formatted_code
    assert vet() is is_vetted_code
    assert ("unreachable code" in capfd.readouterr().err) is not is_vetted_code
