"""A pytest plugin that records the API server's answers to the requests of the tests in this folder.

`test_without_policies` uses the plugin in two runs of these tests. With `--answers FILE`, the plugin writes
the answers to FILE. With `--without-policies FILE`, it first removes the bindings of all admission policies.
Each request then returns the answer in FILE to the test, so that the test takes the same path. The answers of
the API server without policies go to the file of `--answers`.
"""

import json
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import pytest

from cluster.errors import ClusterError
from tenancy.base.kinds import POLICY_BINDING
from tests.admission.people import CLAIM, Attempt, Person, claim_spec, create
from tests.waiting import eventually

_CHANGING = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
# By test, user and request: the error message of the API server, or an empty string.
Answers = dict[str, str]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("answers")
    group.addoption("--answers", type=Path, required=True, help="the file for the answers")
    group.addoption("--without-policies", type=Path, help="the file with the answers of a run with policies")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(config.option.answers, config.option.without_policies))


class Recorder:
    def __init__(self, file: Path, expected: Path | None) -> None:
        self._file = file
        self._expected: Answers | None = json.loads(expected.read_text()) if expected else None
        self._answers: Answers = {}
        self._refusal = Person.refusal
        recorder = self

        def refusal(person: Person, attempt: Attempt, *, is_dry_run: bool = True) -> str:
            return recorder._answer(person, attempt, is_dry_run)

        Person.refusal = refusal  # type: ignore[method-assign, assignment]

    def _answer(self, person: Person, attempt: Attempt, is_dry_run: bool) -> str:
        key = _key(person, attempt)
        expected = None if self._expected is None else self._expected.get(key)
        try:
            answer = self._refusal(person, attempt, is_dry_run=is_dry_run)
        except ClusterError:
            # The request was admitted, but failed later. For example, the object does not exist.
            if expected is None:
                raise
            answer = ""
        self._answers[key] = answer
        return answer if expected is None else expected

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        value = yield
        if fixturedef.argname == "people" and self._expected is not None:
            people = cast(Callable[..., Person], value)
            root = people("root", "system:masters")
            for binding in root.list(POLICY_BINDING)[0]:
                root.delete(POLICY_BINDING, binding["metadata"]["name"])
            # The policy of claims is created last, and its binding is deleted last.
            probe = create(CLAIM, "probe", spec=claim_spec(storageClassName="slow"))
            eventually(lambda: self._refusal(people("alice"), probe) == "", "no policy is in force")
        return value

    def pytest_sessionfinish(self) -> None:
        self._file.write_text(json.dumps(self._answers))


def _key(person: Person, attempt: Attempt) -> str:
    """The test, the user and the request, without fields that differ from run to run."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    body: Any = attempt.body
    if isinstance(body, dict) and "metadata" in body:
        metadata = {name: value for name, value in body["metadata"].items() if name not in _CHANGING}
        body = {**body, "metadata": metadata}
    return f"{test} {person.user}: {attempt.method} {attempt.path} {json.dumps(body, sort_keys=True)}"
