"""The YAML examples in the docs are valid."""

import re
from typing import Any

import pytest
import yaml

from embedded.environment import ROOT
from tenancy.desired import desired_state
from tenancy.plans import plans_from_text, read_plans
from tenancy.spec.aisession import AISessionSpec
from tenancy.spec.session_config import SessionsConfig
from tenancy.spec.tenant import tenant_from_manifest
from tests.platform import tenant_manifest

_FENCE = re.compile(r"^ *```yaml\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks() -> list[Any]:
    return [
        pytest.param(text, id=f"{page.relative_to(ROOT)}-{number}")
        for page in _PAGES
        for number, text in enumerate(_FENCE.findall(page.read_text(encoding="utf-8")), 1)
    ]


def tenant_in(example: dict[str, Any]) -> dict[str, Any]:
    """The Tenant of an example. The example is a whole Tenant, a `spec`, or some fields of a spec."""
    if example.get("kind") == "Tenant":
        return example
    return tenant_manifest("example", **example.get("spec", example))


@pytest.mark.parametrize("text", blocks())
def test_shown_yaml_is_taken(text: str) -> None:
    example = yaml.safe_load(text)
    if "plans" in example:
        assert plans_from_text(text).plans
    elif "sessions" in example:
        assert SessionsConfig.model_validate(example["sessions"]).models
    elif example.get("kind") == "AISession":
        assert AISessionSpec.model_validate(example["spec"]).tenant_ref.name
    elif example.get("kind", "Tenant") == "Tenant":
        tenant = tenant_from_manifest(tenant_in(example))
        assert desired_state(tenant, read_plans()).manifests
    else:
        assert {"apiVersion", "kind", "metadata"} <= example.keys()


def test_there_are_examples_to_check() -> None:
    assert len(blocks()) > 5
