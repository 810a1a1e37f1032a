"""The digests of sample tenants stay the same from version to version.

After an upgrade the watcher runs one `up` for each tenant whose digest differs. The changelog announces it.
"""

from typing import Any

import pytest
import yaml

from embedded.environment import ROOT
from tenancy.decision import Facts, decide
from tenancy.plans import read_plans


def digest(manifest: dict[str, Any]) -> str:
    return decide(manifest, Facts(read_plans())).desired.digest


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("simple.yaml", "9a74c528ef688b93"),
        ("team.yaml", "03c838638c7a9f73"),
        ("more/everything.yaml", "63d21d016beb90ab"),
    ],
)
def test_example_has_the_same_digest(file: str, expected: str) -> None:
    assert digest(yaml.safe_load((ROOT / "examples" / file).read_text("utf-8"))) == expected


@pytest.mark.parametrize(
    ("plan", "expected"),
    [("basic", "ad4e554daf6353a9"), ("pro", "7f4434785771a469"), ("enterprise", "1d9d16131b087ee0")],
)
def test_tenant_on_a_shipped_plan_has_the_same_digest(plan: str, expected: str) -> None:
    assert digest({"metadata": {"name": "acme"}, "spec": {"plan": plan}}) == expected
