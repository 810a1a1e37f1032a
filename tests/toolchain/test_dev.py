"""The `./dev` command: its help without installation, the Python environment, checks and progress."""

import argparse
import pkgutil
import subprocess
from importlib.metadata import distributions
from io import StringIO
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from embedded import environment, quality
from embedded.cli import parsed_arguments, parser
from embedded.environment import ROOT, ensure_environment
from embedded.progress import Progress, share_text

COMMANDS = ["run", "env", "pid x", "stop", "test", "mutate", "check", "generate", "bench", "clean"]


@pytest.mark.parametrize(
    "arguments", ["", "run", "env", "pid", "stop", "test", "mutate", "check", "generate", "bench", "clean"]
)
def test_help_is_answered_without_any_set_up(base_python: str, cache: Path, arguments: str) -> None:
    # With -I -S, Python can import only the standard library.
    command = [base_python, "-I", "-S", str(ROOT / "dev"), *arguments.split(), "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.startswith(f"usage: ./dev {arguments}".strip())
    assert not cache.exists()


@pytest.mark.parametrize("arguments", COMMANDS)
def test_each_command_has_a_function(arguments: str) -> None:
    assert callable(pkgutil.resolve_name(parsed_arguments(arguments.split()).command))


def test_help_names_each_command() -> None:
    text = parser().format_help()
    assert [line for command in COMMANDS if (line := f"    {command.split()[0]} ") not in text] == []


def test_everything_after_test_goes_to_pytest_as_it_is() -> None:
    arguments = ["-k", "one or two", "tests/toolchain", "-x", "--help"]
    assert parsed_arguments(["test", *arguments]).pytest_arguments == arguments


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], ["-n", "3", "tests"]),
        (["--quick", "-x"], ["-n", "3", "--quick", "-x", "tests"]),
        (["-n0"], ["-n", "3", "-n0", "tests"]),
        (["tests/toolchain", "-k", "one or two"], ["tests/toolchain", "-k", "one or two"]),
        (["tests/toolchain/test_dev.py::test_x"], ["tests/toolchain/test_dev.py::test_x"]),
        (["tests/toolchain", "--cov"], ["tests/toolchain", "--cov", "--cov-report=term"]),
        (["tests/docs", "--random-order=7"], ["tests/docs", "-p", "randomly", "--randomly-seed=7"]),
    ],
)
def test_whole_suite_runs_in_workers_and_named_tests_in_one_process(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], options: list[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert quality.pytest_options(arguments) == options


def test_random_order_prints_the_seed_that_repeats_it(capsys: pytest.CaptureFixture[str]) -> None:
    options = quality.pytest_options(["tests/toolchain", "--random-order"])
    repeated = capsys.readouterr().out.rpartition(" ")[2].strip()
    assert quality.pytest_options(["tests/toolchain", repeated]) == options


def test_unfinished_environment_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "LOCK_FILE", tmp_path / "requirements.lock")
    environment.LOCK_FILE.write_text("# nothing to install\n")
    folder = environment.environment_folder()
    folder.mkdir(parents=True)
    (folder / "left-behind").touch()
    assert ensure_environment() == folder
    assert not (folder / "left-behind").exists()
    subprocess.run([folder / "bin" / "python", "-c", ""], check=True)

    (folder / "kept").touch()
    assert ensure_environment() == folder
    assert (folder / "kept").exists(), "a finished environment is not made again"


def test_all_checks_run_and_one_failure_fails(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        quality, "CHECKS", {"first": ["python", "-c", "exit(1)"], "second": ["python", "-c", "print('ran')"]}
    )
    assert quality.check(argparse.Namespace()) == 1
    output = capfd.readouterr().out
    assert "ran" in output
    assert [line.split()[:2] for line in output.splitlines()[-2:]] == [
        ["first", "FAILED"],
        ["second", "passed"],
    ]


def test_progress_says_what_happens_and_how_it_ended() -> None:
    stream = StringIO()
    with Progress("Building", stream, interval_s=0.01) as progress:
        progress.detail = "7 packages"
        while "7 packages" not in stream.getvalue():
            pass
    assert stream.getvalue().splitlines()[0] == "Building …"
    assert stream.getvalue().splitlines()[-1].startswith("Building: 7 packages, ")
    assert stream.getvalue().endswith(" s elapsed: done\n")


@pytest.mark.parametrize(
    ("done", "total", "elapsed_s", "text"),
    [
        (0, 100, 0, "0 %"),
        (0, 100, 60, "0 %"),
        (1, 100, 5, "1 %"),
        (42, 100, 300, "42 %, about 7 min left"),
        (50, 100, 60, "50 %, about 1 min left"),
        (90, 100, 300, "90 %, less than a minute left"),
        (99.9, 100, 900, "99 %, less than a minute left"),
        (100, 100, 900, "99 %, less than a minute left"),
    ],
)
def test_share_comes_with_an_estimate_from_the_speed_so_far(
    done: float, total: float, elapsed_s: float, text: str
) -> None:
    assert "".join(share_text(done, total, elapsed_s)) == text


def test_lock_has_each_extra_that_a_package_asks_for() -> None:
    """If the lock file omits an extra, pip selects the newest version of the package.

    This version has no hash.
    """
    lock = environment.LOCK_FILE.read_text(encoding="utf-8").lower()
    requirements_with_extras = [
        requirement
        for distribution in distributions()
        for requirement in map(Requirement, distribution.requires or ())
        if requirement.extras and (requirement.marker is None or requirement.marker.evaluate({"extra": ""}))
    ]
    assert "coverage" in [requirement.name for requirement in requirements_with_extras]
    for requirement in requirements_with_extras:
        assert f"{requirement.name.lower()}[{','.join(sorted(requirement.extras))}]==" in lock
