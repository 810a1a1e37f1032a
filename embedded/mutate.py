"""`./dev mutate`: puts one fault at a time into a copy of the product, and checks that tests detect it.

Such a fault is called a mutation. `embedded/mutations.py` lists the mutations, and the tests that must fail
because of each mutation. The tests run in temporary copies of the checkout. The first copy contains no
mutation, and all tests must pass in this copy.
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
from embedded.mutation import Mutation
from embedded.mutations import MUTATIONS
from embedded.progress import Progress
from embedded.toolchain.resolver import ensure_tools, path_with
from embedded.verdicts import UNTIL_FAILED, VERDICTS_FILE

# The time limit, in seconds, of the function `eventually`, with which tests wait for a condition. The limit
# is low, because with many mutations the condition never becomes true.
_WAIT_S: Final = 30
# The exit codes of pytest after a complete run. 0 means that all tests passed, 1 that some tests failed.
_COMPLETED_CODES: Final = (0, 1)


@dataclass(frozen=True)
class Run:
    """One run of pytest. `verdicts` has one entry per phase (setup, call, teardown) of each test."""

    code: int
    verdicts: Sequence[dict[str, Any]]
    output: str
    duration_s: float

    def verdicts_of(self, test: str) -> list[dict[str, Any]]:
        return [verdict for verdict in self.verdicts if verdict["test"] == test]


@dataclass(frozen=True)
class MutationOutcome:
    """The outcome of one mutation. The mutation is caught if an assertion fails in each of its tests."""

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
    """The mutations with these names, or all mutations if `names` is empty.

    Raises SetupFailed if a name is unknown.
    """
    known = {mutation.name: mutation for mutation in MUTATIONS}
    if unknown := [name for name in names if name not in known]:
        raise SetupFailed(
            f"Unknown mutations: {', '.join(unknown)}. List all mutations with ./dev mutate --list."
        )
    return tuple(known[name] for name in dict.fromkeys(names)) or MUTATIONS


def mutated_text(checkout: Path, mutation: Mutation) -> str:
    """The content of the file `mutation.file` with the mutation.

    Raises SetupFailed if the file does not contain `mutation.old` exactly once.
    """
    text = (checkout / mutation.file).read_text(encoding="utf-8")
    if (count := text.count(mutation.old)) != 1:
        raise SetupFailed(
            f"The text `old` of mutation {mutation.name} occurs {count} times in {mutation.file}, but must"
            f" occur exactly once. Update `old` in embedded/mutations.py:\n{mutation.old}"
        )
    return text.replace(mutation.old, mutation.new)


def run_mutations(checkout: Path, mutations: Sequence[Mutation]) -> list[MutationOutcome]:
    """Run all tests without a mutation. Then, for each mutation, run its tests with the mutation.

    Writes the output of pytest to the folder `mutate` in the state folder.
    """
    tests = list(dict.fromkeys(test for mutation in mutations for test in mutation.tests))
    with Progress(f"Running {len(tests)} tests without a mutation"):
        unmutated = _run(checkout, tests)
    _write_output("unmutated", unmutated)
    outcomes: list[MutationOutcome] = []
    for number, mutation in enumerate(mutations, 1):
        if problem := unmutated_problem(unmutated, mutation.tests):
            outcomes.append(MutationOutcome(mutation, False, problem))
        else:
            with Progress(f"{number} of {len(mutations)}, {mutation.name}") as progress:
                run = _run(checkout, mutation.tests, mutation)
                outcomes.append(mutated_outcome(mutation, run))
                progress.detail = "caught" if outcomes[-1].is_caught else "NOT CAUGHT"
            _write_output(mutation.name, run)
    return outcomes


def unmutated_problem(run: Run, tests: Sequence[str]) -> str:
    """The reason why not all `tests` passed in a run without a mutation. Empty if all tests passed."""
    if run.code not in _COMPLETED_CODES:
        return f"the tests could not be run without the mutation: {_last_line(run)}"
    for test in tests:
        verdicts = run.verdicts_of(test)
        if not any(verdict["phase"] == "call" for verdict in verdicts):
            return f"did not run without the mutation: {test}"
        for verdict in verdicts:
            if verdict["outcome"] != "passed":
                return f"{verdict['outcome']} without the mutation: {test}: {verdict['error']}"
    return ""


def mutated_outcome(mutation: Mutation, run: Run) -> MutationOutcome:
    """The outcome of a run with a mutation.

    The mutation is caught if an assertion failed in the body of each of its tests. Assertions in fixtures do
    not count, because they check preconditions.
    """
    reasons = []
    for test in mutation.tests:
        failures = [verdict for verdict in run.verdicts_of(test) if verdict["outcome"] == "failed"]
        failed_assertions = [
            verdict for verdict in failures if verdict["phase"] == "call" and verdict["is_assertion"]
        ]
        if run.code not in _COMPLETED_CODES:
            problem = f"the tests could not be run: {_last_line(run)}"
        elif failures and not failed_assertions:
            problem = f"failed in {failures[0]['phase']}, not by an assertion: {failures[0]['error']}"
        elif not failures:
            problem = "survived"
        else:
            reasons.append(failed_assertions[0]["error"])
            continue
        return MutationOutcome(mutation, False, f"{problem}: {test}", run.duration_s)
    return MutationOutcome(mutation, True, "; ".join(reasons), run.duration_s)


def _run(checkout: Path, tests: Sequence[str], mutation: Mutation | None = None) -> Run:
    """Run test functions in a copy of the checkout. `tests` contains their pytest node ids.

    With a mutation, one failed assertion per test function is sufficient. So the run ends as soon as an
    assertion has failed in each function.
    """
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
    """Run a command and return its exit code.

    The command runs in a new session, so Ctrl-C in the terminal does not reach it. If this process is
    interrupted, this function sends one SIGINT to the command, and waits until the command has exited.
    """
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
    """Copy the tracked files of the working tree, and the untracked files that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        raise SetupFailed(f"git cannot list the files of {checkout}: {listing.stderr.strip()}")
    for name in filter(None, listing.stdout.split("\0")):
        if (checkout / name).is_file():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((checkout / name).read_bytes())


def _write_output(name: str, run: Run) -> None:
    folder = state_folder() / "mutate"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.log").write_text(run.output, encoding="utf-8")


def _last_line(run: Run) -> str:
    lines = [line for line in run.output.splitlines() if line.strip()]
    return lines[-1] if lines else f"pytest exited with code {run.code}"


def _print_table(outcomes: Sequence[MutationOutcome]) -> None:
    width = max(len(outcome.mutation.name) for outcome in outcomes)
    print()
    for outcome in outcomes:
        verdict = "caught" if outcome.is_caught else "NOT CAUGHT"
        reason = outcome.reason if len(outcome.reason) <= 110 else f"{outcome.reason[:109]}…"
        print(f"{outcome.mutation.name:<{width}}  {verdict:<10} {outcome.duration_s:5.1f} s  {reason}")
    if not all(outcome.is_caught for outcome in outcomes):
        print(f"\nThe output of pytest is in {state_folder() / 'mutate'}.")
