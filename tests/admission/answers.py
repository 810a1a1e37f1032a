"""A pytest plugin that records the API server's answers to the requests of the tests in this folder.

`test_without_policies` uses the plugin in two runs of these tests:

- With `--record FILE`, the plugin writes the answers to FILE.
- With `--without-policies OTHER` too, it first removes the bindings of all admission policies. Each request
  still returns the answer in the file OTHER to the test, so that the test sends the same requests as before.
"""

import json
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import Field

from cluster.errors import ClusterError
from tenancy.base.kinds import POLICY_BINDING
from tenancy.base.model import Model
from tests.admission import people as people_module
from tests.admission.people import CLAIM, Attempt, Person, claim_spec, create
from tests.waiting import eventually

SEPARATOR = " | "
_CHANGING = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


class Record(Model):
    """The results of one run."""

    # By test, user and request: the error message of the API server, or an empty string.
    answers: dict[str, str] = Field(default_factory=dict)
    # The tests that expect a rejection by a policy, and the tests that have failed.
    attacks: set[str] = Field(default_factory=set)
    failed: set[str] = Field(default_factory=set)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("answers")
    group.addoption("--record", type=Path, required=True, help="the file for the answers")
    group.addoption("--without-policies", type=Path, help="the file with the answers of a run with policies")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(config.option.record, config.option.without_policies))


class Recorder:
    """Replaces `Person.refusal` and `denied_by` with functions that also record their calls."""

    def __init__(self, file: Path, expected: Path | None) -> None:
        self._file = file
        self._expected = Record.model_validate_json(expected.read_text()).answers if expected else None
        self._record = Record()
        self._refusal, self._denied_by = Person.refusal, people_module.denied_by
        recorder = self

        def refusal(person: Person, attempt: Attempt, *, is_dry_run: bool = True) -> str:
            return recorder._answer(person, attempt, is_dry_run)

        def denied_by(policy: str) -> str:
            if _is_in_test():
                recorder._record.attacks.add(_test())
            return recorder._denied_by(policy)

        Person.refusal = refusal  # type: ignore[method-assign, assignment]
        people_module.denied_by = denied_by

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
        if _is_in_test():
            self._record.answers[key] = answer
        return answer if expected is None else expected

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        value = yield
        if fixturedef.argname == "people" and self._expected is not None:
            people = cast(Callable[..., Person], value)
            root = people("root", "system:masters")
            for binding in root.list(POLICY_BINDING)[0]:
                root.delete(POLICY_BINDING, binding["metadata"]["name"])
            probe = create(CLAIM, "probe", spec=claim_spec(storageClassName="slow"))
            eventually(lambda: self._refusal(people("alice"), probe) == "", "no policy is in force")
        return value

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._record.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._file.write_text(self._record.model_dump_json())


def _is_in_test() -> bool:
    """Whether a test function runs, and not a fixture."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").endswith(" (call)")


def _test() -> str:
    """The id of the current test."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]


def _key(person: Person, attempt: Attempt) -> str:
    """The test, the user and the request, without fields that differ from run to run."""
    body: Any = attempt.body
    if isinstance(body, dict) and "metadata" in body:
        metadata = {name: value for name, value in body["metadata"].items() if name not in _CHANGING}
        body = {**body, "metadata": metadata}
    content = json.dumps(body, sort_keys=True)
    return f"{_test()}{SEPARATOR}{person.user}: {attempt.method} {attempt.path} {content}"
