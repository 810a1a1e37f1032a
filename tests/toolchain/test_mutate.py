"""`./dev mutate`: the mutations match the code and its tests, and the outcomes are correct."""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from embedded import mutate
from embedded.environment import FOLDER_VARIABLE, ROOT
from embedded.errors import SetupFailed
from embedded.mutate import (
    Run,
    chosen_mutations,
    mutated_outcome,
    mutated_text,
    run_mutations,
    unmutated_problem,
)
from embedded.mutation import Mutation
from embedded.mutations import MUTATIONS


def test_list_has_one_line_per_mutation(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutate.mutate(argparse.Namespace(names=[], list=True)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [mutation.name for mutation in MUTATIONS]
    assert len({mutation.name for mutation in MUTATIONS}) == len(lines) == 37
    for line, mutation in zip(lines, MUTATIONS, strict=True):
        assert mutation.fault in line


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_mutation_fits_the_product(mutation: Mutation) -> None:
    before, after = (ROOT / mutation.file).read_text(encoding="utf-8"), mutated_text(ROOT, mutation)
    assert before != after
    compile(after, mutation.file, "exec")


def test_every_test_of_a_mutation_exists() -> None:
    tests = {test for mutation in MUTATIONS for test in mutation.tests}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    collection = subprocess.run([*command, *tests], cwd=ROOT, capture_output=True, text=True, check=False)
    assert collection.returncode == 0, collection.stdout + collection.stderr
    assert {line.partition("[")[0] for line in collection.stdout.splitlines() if "::" in line} == tests


def test_unknown_name_is_refused() -> None:
    assert chosen_mutations([MUTATIONS[3].name]) == (MUTATIONS[3],)
    with pytest.raises(SetupFailed, match="Unknown mutations: none-such"):
        chosen_mutations(["none-such"])


PASSED = {"test": "t.py::a", "outcome": "passed", "is_assertion": False, "error": ""}
FAILED = {"test": "t.py::a", "outcome": "failed", "is_assertion": True, "error": "AssertionError: no"}


def run(code: int, *verdicts: dict[str, Any]) -> Run:
    return Run(code, [{"phase": "call", **verdict} for verdict in verdicts], "the last line\n", 1.0)


@pytest.mark.parametrize(
    ("code", "verdicts", "problem"),
    [
        (0, [PASSED], ""),
        (1, [PASSED, {**FAILED, "test": "t.py::other"}], ""),
        (0, [], "did not run without the mutation"),
        (1, [PASSED, FAILED], "failed without the mutation"),
        (1, [PASSED, {**FAILED, "phase": "teardown"}], "failed without the mutation"),
        (0, [{**PASSED, "outcome": "skipped"}], "skipped without the mutation"),
        (4, [PASSED], "could not be run without the mutation: the last line"),
    ],
)
def test_tests_must_pass_unmutated(code: int, verdicts: Sequence[dict[str, Any]], problem: str) -> None:
    actual_problem = unmutated_problem(run(code, *verdicts), ["t.py::a"])
    assert problem in actual_problem
    assert bool(actual_problem) == bool(problem)


@pytest.mark.parametrize(
    ("code", "verdicts", "is_caught", "reason"),
    [
        (1, [FAILED], True, "AssertionError: no"),
        (1, [PASSED, FAILED, {**FAILED, "phase": "teardown", "is_assertion": False}], True, "AssertionError"),
        (0, [PASSED], False, "survived"),
        (1, [PASSED, {**FAILED, "test": "t.py::other"}], False, "survived"),
        (1, [{**FAILED, "is_assertion": False}], False, "failed in call, not by an assertion"),
        (1, [{**FAILED, "phase": "setup"}], False, "failed in setup, not by an assertion"),
        (2, [FAILED], False, "could not be run: the last line"),
    ],
)
def test_only_a_failed_assertion_of_the_test_itself_counts(
    code: int, verdicts: Sequence[dict[str, Any]], is_caught: bool, reason: str
) -> None:
    mutation = Mutation("any", "any", "any.py", "a", "b", ("t.py::a",))
    outcome = mutated_outcome(mutation, run(code, *verdicts))
    assert outcome.is_caught is is_caught
    assert reason in outcome.reason


PRODUCT = "def double(number):\n    return number * 2\n"
TESTS = """
import pytest
from product import double

@pytest.mark.parametrize("number", [0, 1, 2])
def test_double(number):
    assert double(number) == number + number

def test_text_is_refused():
    with pytest.raises(TypeError):
        double(None)

def test_nothing():
    assert True
"""


def test_faults_are_put_into_a_copy_and_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "state"))
    checkout = tmp_path / "checkout"
    (checkout / "embedded").mkdir(parents=True)
    (checkout / "embedded" / "verdicts.py").write_bytes((ROOT / "embedded" / "verdicts.py").read_bytes())
    (checkout / "pytest.ini").write_text("[pytest]\naddopts = -p no:randomly\n")
    (checkout / "product.py").write_text(PRODUCT)
    (checkout / "test_product.py").write_text(TESTS)
    subprocess.run(["git", "init", "--quiet", str(checkout)], check=True)

    def mutation(name: str, new: str, test: str) -> Mutation:
        return Mutation(name, name, "product.py", "return number * 2", new, (f"test_product.py::{test}",))

    caught, unmet, survived, broken = run_mutations(
        checkout,
        [
            mutation("caught", "return number * 3", "test_double"),
            mutation("unmet", "return 0", "test_text_is_refused"),
            mutation("survived", "return number * 3", "test_nothing"),
            mutation("broken", "return (", "test_double"),
        ],
    )
    assert (caught.is_caught, unmet.is_caught, survived.is_caught) == (True, True, False)
    assert caught.reason == "AssertionError: assert 3 == (1 + 1)"
    assert "DID NOT RAISE" in unmet.reason
    assert "could not be run" in broken.reason
    assert (checkout / "product.py").read_text() == PRODUCT
    log = (tmp_path / "state" / "mutate" / "caught.log").read_text()
    assert "every test that should fail has failed" in log
