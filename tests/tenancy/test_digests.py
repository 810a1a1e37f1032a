"""The digests of sample tenants are the same in each version.

If a new version changes digests, the watcher runs one `pulumi up` for each of these tenants after the
upgrade. The changelog must announce this.
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
        ("simple.yaml", "032752b9399296f1"),
        ("team.yaml", "80004e8563b764dc"),
        ("more/everything.yaml", "63badcb4316a1cc0"),
    ],
)
def test_example_has_the_same_digest(file: str, expected: str) -> None:
    assert digest(yaml.safe_load((ROOT / "examples" / file).read_text("utf-8"))) == expected


@pytest.mark.parametrize(
    ("plan", "expected"),
    [("basic", "d186f639306637ef"), ("pro", "65e7513b9f8587f6"), ("enterprise", "5dd3f1a1449e719a")],
)
def test_tenant_on_a_shipped_plan_has_the_same_digest(plan: str, expected: str) -> None:
    assert digest({"metadata": {"name": "acme"}, "spec": {"plan": plan}}) == expected
