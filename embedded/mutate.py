"""`./dev mutate`: breaks the product on purpose, one fault at a time, and checks that its tests fail.

Everything runs in copies of the checkout, in a temporary folder. First all tests run on the product as it is.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from embedded.environment import ROOT, state_folder
from embedded.errors import SetupFailed
from embedded.mutations import MUTATIONS, Mutation
from embedded.progress import Progress
from embedded.toolchain.resolver import ensure_tools, path_with
from embedded.verdicts import UNTIL_FAILED, VERDICTS_FILE

# How long a test waits for a condition, here: a fault is often one that keeps it from coming true.
_WAIT_S: Final = 30
# pytest's exit codes where it ran the tests that it was given: all passed, some failed.
_RAN: Final = (0, 1)


@dataclass(frozen=True)
class Run:
    """One run of pytest: its exit code, how each phase of each test ended, and what it printed."""

    code: int
    verdicts: Sequence[dict[str, Any]]
    output: str
    duration_s: float

    def of(self, test: str) -> list[dict[str, Any]]:
        return [verdict for verdict in self.verdicts if verdict["test"] == test]


@dataclass(frozen=True)
class Outcome:
    """What came of one mutation. `is_caught`: each of its tests failed by an assertion."""

    mutation: Mutation
    is_caught: bool
    reason: str
    duration_s: float = 0.0


def mutate(args: argparse.Namespace) -> int:
    mutations = chosen_mutations(args.names)
    if args.list:
        width = max(len(mutation.name) for mutation in mutations)
        for mutation in mutations:
            print(f"{mutation.name:<{width}}  {mutation.fault} ({mutation.file})")
        return 0
    for mutation in mutations:
        mutated_text(ROOT, mutation)
    os.environ["PATH"] = path_with(ensure_tools())
    outcomes = run_mutations(ROOT, mutations)
    _print_table(outcomes)
    caught = sum(outcome.is_caught for outcome in outcomes)
    print(f"\n{caught} of {len(outcomes)} mutations caught")
    return 0 if caught == len(outcomes) else 1


def chosen_mutations(names: Sequence[str]) -> tuple[Mutation, ...]:
    """The mutations of these names; all where none are given."""
    known = {mutation.name: mutation for mutation in MUTATIONS}
    if unknown := [name for name in names if name not in known]:
        raise SetupFailed(f"There is no mutation {', '.join(unknown)}: see ./dev mutate --list")
    return tuple(known[name] for name in dict.fromkeys(names)) or MUTATIONS


def mutated_text(checkout: Path, mutation: Mutation) -> str:
    """The text of the mutation's file with the fault in it."""
    text = (checkout / mutation.file).read_text(encoding="utf-8")
    if (count := text.count(mutation.old)) != 1:
        raise SetupFailed(
            f"{mutation.file} has the text of mutation {mutation.name} {count} times instead of once; "
            f"update embedded/mutations.py:\n{mutation.old}"
        )
    return text.replace(mutation.old, mutation.new)


def run_mutations(checkout: Path, mutations: Sequence[Mutation]) -> list[Outcome]:
    tests = list(dict.fromkeys(test for mutation in mutations for test in mutation.tests))
    with Progress(f"{len(tests)} tests on the product as it is"):
        unmutated = _run(checkout, tests)
    _keep_output("unmutated", unmutated)
    outcomes: list[Outcome] = []
    for number, mutation in enumerate(mutations, 1):
        if problem := unmutated_problem(unmutated, mutation.tests):
            outcomes.append(Outcome(mutation, False, problem))
        else:
            with Progress(f"{number} of {len(mutations)}, {mutation.name}") as progress:
                run = _run(checkout, mutation.tests, mutation)
                outcomes.append(mutated_outcome(mutation, run))
                progress.detail = "caught" if outcomes[-1].is_caught else "NOT CAUGHT"
            _keep_output(mutation.name, run)
    return outcomes


def unmutated_problem(run: Run, tests: Sequence[str]) -> str:
    """Why the tests prove nothing: they must pass while nothing is broken. Empty where they do."""
    if run.code not in _RAN:
        return f"the tests could not be run unmutated: {_last_line(run)}"
    for test in tests:
        verdicts = run.of(test)
        if not any(verdict["phase"] == "call" for verdict in verdicts):
            return f"did not run unmutated: {test}"
        for verdict in verdicts:
            if verdict["outcome"] != "passed":
                return f"{verdict['outcome']} unmutated: {test}: {verdict['error']}"
    return ""


def mutated_outcome(mutation: Mutation, run: Run) -> Outcome:
    """Caught, if each test has failed by an assertion while it ran; not in its fixtures, whose conditions
    are no test's subject."""
    reasons = []
    for test in mutation.tests:
        failures = [verdict for verdict in run.of(test) if verdict["outcome"] == "failed"]
        by_assertion = [found for found in failures if found["phase"] == "call" and found["is_assertion"]]
        if run.code not in _RAN:
            problem = f"the tests could not be run: {_last_line(run)}"
        elif failures and not by_assertion:
            problem = f"failed in {failures[0]['phase']}, not by an assertion: {failures[0]['error']}"
        elif not failures:
            problem = "survived"
        else:
            reasons.append(by_assertion[0]["error"])
            continue
        return Outcome(mutation, False, f"{problem}: {test}", run.duration_s)
    return Outcome(mutation, True, "; ".join(reasons), run.duration_s)


def _run(checkout: Path, tests: Sequence[str], mutation: Mutation | None = None) -> Run:
    """Runs the tests in a copy of the checkout: with a fault in it, only until all of them have failed."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tenancy-mutate-") as folder:
        copy, verdicts, output = Path(folder) / "copy", Path(folder) / "verdicts", Path(folder) / "output"
        _copy(checkout, copy)
        verdicts.touch()
        if mutation:
            (copy / mutation.file).write_text(mutated_text(checkout, mutation), encoding="utf-8")
        command = [
            *(sys.executable, "-m", "pytest", "-p", "embedded.verdicts"),
            *("--basetemp", str(Path(folder) / "tmp"), *tests),
        ]
        variables = {
            "TENANCY_TEST_WAIT_S": str(_WAIT_S),
            VERDICTS_FILE: str(verdicts),
            UNTIL_FAILED: ",".join(mutation.tests) if mutation else "",
        }
        with output.open("wb") as file:
            code = _execute(command, copy, os.environ | variables, file)
        return Run(
            code,
            [json.loads(line) for line in verdicts.read_text(encoding="utf-8").splitlines()],
            output.read_text(encoding="utf-8", errors="replace"),
            time.monotonic() - started,
        )


def _execute(command: list[str], folder: Path, environment: dict[str, str], output: BinaryIO) -> int:
    """Returns the exit code. The command has a session of its own: Ctrl-C reaches it once, from here."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise


def _copy(checkout: Path, copy: Path) -> None:
    """Copies what git knows of or would add, as it is in the working tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise SetupFailed(f"git can't list the files of {checkout}: {listed.stderr.strip()}")
    for name in filter(None, listed.stdout.split("\0")):
        if (checkout / name).is_file():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((checkout / name).read_bytes())


def _keep_output(name: str, run: Run) -> None:
    folder = state_folder() / "mutate"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.log").write_text(run.output, encoding="utf-8")


def _last_line(run: Run) -> str:
    lines = [line for line in run.output.splitlines() if line.strip()]
    return lines[-1] if lines else f"pytest ended with code {run.code}"


def _print_table(outcomes: Sequence[Outcome]) -> None:
    width = max(len(outcome.mutation.name) for outcome in outcomes)
    print()
    for outcome in outcomes:
        verdict = "caught" if outcome.is_caught else "NOT CAUGHT"
        reason = outcome.reason if len(outcome.reason) <= 110 else f"{outcome.reason[:109]}…"
        print(f"{outcome.mutation.name:<{width}}  {verdict:<10} {outcome.duration_s:5.1f} s  {reason}")
    if not all(outcome.is_caught for outcome in outcomes):
        print(f"\nWhat pytest printed is in {state_folder() / 'mutate'}.")
