"""Without the admission policies, the API server accepts the requests that the policies reject.

So each test of an attack in this folder would fail without its policy, and no other protection hides a gap.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from embedded.environment import ROOT
from tenancy.isolation.comparison import shipped_policies
from tests.admission.answers import Answers

# Parts of requests that the API server rejects even without the policies, and the reason.
ALSO_REJECTED: dict[str, str] = {}


def answers(file: Path, *options: str) -> Answers:
    """Run the tests of this folder, and return the API server's answers to their requests."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.admission.answers", "tests/admission"]
    done = subprocess.run(
        [*command, "--answers", str(file), *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
    found: Answers = json.loads(file.read_text())
    return found


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_attacks_succeed_without_the_policies(tmp_path: Path) -> None:
    with_policies = answers(tmp_path / "with.json")
    without = answers(tmp_path / "without.json", "--without-policies", str(tmp_path / "with.json"))
    attacks = {
        key: answer
        for key, answer in with_policies.items()
        if "ValidatingAdmissionPolicy 'tenancy-" in answer
    }
    rejected = {key: without.get(key, "not sent") for key in attacks if without.get(key) != ""}
    unexplained = {
        key: text for key, text in rejected.items() if not any(part in key for part in ALSO_REJECTED)
    }
    assert unexplained == {}
    text = "\n".join(attacks.values())
    policies = {each["metadata"]["name"] for each in shipped_policies() if "validations" in each["spec"]}
    assert {name for name in policies if f"'{name}'" not in text} == set()
