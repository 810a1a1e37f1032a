"""Without the admission policies, the API server accepts the requests that the policies reject.

So each test of an attack in this folder fails without its policy, and no other protection hides a gap.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from embedded.environment import ROOT
from tenancy.isolation.comparison import shipped_policies
from tests.admission.answers import SEPARATOR, Record

# Parts of the API server's answers without policies that are not an acceptance, and the reason.
EXPLAINED = {
    "exceeded quota: tenant-quota-objects": "a quota also limits node ports and load balancers",
    "does not have a host assigned": "the request was admitted, but the pod does not run",
}
# The tests of the first two policies do not use `Person.refusal`. `tests/sessions` tests the third one.
NOT_RECORDED = {"tenancy-deleter", "tenancy-spec-author", "tenancy-sessions"}


def record(file: Path, *options: str, **environment: str) -> Record:
    """Run the tests of this folder, and return the API server's answers to their requests."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.admission.answers", "tests/admission"]
    done = subprocess.run(
        [*command, "--record", str(file), *options],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert file.exists(), done.stdout[-4000:] + done.stderr[-4000:]
    return Record.model_validate_json(file.read_text())


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_attacks_succeed_without_the_policies(tmp_path: Path) -> None:
    first, second = tmp_path / "with.json", tmp_path / "without.json"
    with_policies = record(first)
    assert with_policies.failed == set()
    without = record(second, "--without-policies", str(first), TENANCY_TEST_WAIT_S="20")
    rejected = {
        key: answer
        for key, answer in with_policies.answers.items()
        if "ValidatingAdmissionPolicy 'tenancy-" in answer
    }
    answers = {key: without.answers.get(key, "not sent") for key in rejected}
    assert {
        key: answer
        for key, answer in answers.items()
        if answer and not any(text in answer for text in EXPLAINED)
    } == {}
    # These tests expect a rejection, but do not use `Person.refusal`.
    others = with_policies.attacks - {key.partition(SEPARATOR)[0] for key in rejected}
    assert others - without.failed == set()
    messages = "\n".join(rejected.values())
    policies = {each["spec"]["policyName"] for each in shipped_policies() if "policyName" in each["spec"]}
    assert {name for name in policies if f"'{name}'" not in messages} == NOT_RECORDED
    print(f"{len(rejected)} attacks are accepted without the policies")
