"""Hostile plans files, and hostile manifest files for previews. The tests need no cluster."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import strategies as st

from cli.manifests.read import parsed_manifests
from tenancy.base.errors import PlansError, Rejection
from tenancy.decision import Facts, decide
from tenancy.plans import Plan, plans_from_text, read_plans
from tenancy.spec.crd_schema import structural_schema
from tests.fuzz.hostile_values import LARGE_VALUES, TEXTS, json_text
from tests.fuzz.strategies import changed_samples, generated, schema_values
from tests.platform import ROOT, tenant_manifest

PLANS = read_plans()
PLAN = {
    "maxNamespaces": 3,
    "quotas": [{"name": "a", "hard": {"pods": "5", "requests.cpu": "1"}}],
    "limits": {"default": {"cpu": "1"}, "max": {"cpu": "2"}},
    "hostnames": ["${tenant.name}.example"],
    "roles": {"viewer": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "extraResources": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}}
    ],
}
SESSIONS = {
    "types": {"analysis": {"image": "a.example/a:1", "command": ["run"], "model": "m"}},
    "models": {"m": {"env": {"A": "b"}}},
}
MANIFEST = (ROOT / "examples" / "team.yaml").read_text()
# Texts that YAML parsers often handle badly.
FRAGMENTS = [
    *TEXTS,
    *(
        "\t",
        "\n",
        "\n---\n",
        "\n...\n",
        "&a",
        "*a",
        "&a [*a]",
        "<<: *a",
        "!!binary aGk=",
        "!!set {a}",
        "!!python/name:os",
    ),
    *(
        "? [a, b]",
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "|",
        ">",
        "%YAML 9.9",
        "{a: 1, a: 2}",
        ".nan",
        ".inf",
        "0o17",
        "0b1",
    ),
    *(
        "2026-01-31",
        "12:30:45",
        "~",
        "yes",
        "- " * 2000,
        "[" * 2000,
        "a: " * 20,
        "!<tag:x>",
        '"\\ud800"',
        "\ud800",
        "9" * 5000,
    ),
    "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))]),
]


def plans_documents() -> st.SearchStrategy[Any]:
    plan = st.one_of(changed_samples([PLAN]), schema_values(structural_schema(Plan)))
    sessions = st.one_of(st.just(SESSIONS), changed_samples([SESSIONS]))
    documents = st.builds(
        lambda plan, sessions: {"plans": {"basic": plan}, "sessions": sessions}, plan, sessions
    )
    return st.one_of(
        documents, documents, changed_samples([{"plans": {"basic": PLAN}, "sessions": SESSIONS}])
    )


@st.composite
def manifest_texts(draw: st.DrawFn) -> tuple[str, str]:
    """The name and the content of a file.

    The content is a sample with inserted fragments, or changed JSON.
    """
    if draw(st.booleans()):
        sample = yaml.safe_load(MANIFEST)
        documents = draw(st.lists(changed_samples([sample]), min_size=1, max_size=3))
        items = documents[0] if len(documents) == 1 else {"kind": "List", "items": documents}
        return draw(st.sampled_from(["a.json", "a.yaml"])), json_text(items)
    text = MANIFEST
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        position = draw(st.integers(0, len(text)))
        text = text[:position] + draw(st.sampled_from(FRAGMENTS)) + text[position:]
    return "a.yaml", text


def check_plans(content: Any) -> str:
    """`built` or `rejected`. For an unexpected error, a text that describes the error."""
    text = json_text(content)
    try:
        plans = plans_from_text(text)
        decide(tenant_manifest("fuzz", plan="basic"), Facts(plans))
    except (PlansError, Rejection) as error:
        return "rejected" if len(str(error)) < 32768 else f"{text[:2000]}\n  -> long message"
    except Exception as error:
        return f"{text[:2000]}\n  -> {type(error).__name__}: {str(error)[:500]}"
    return "built"


def check_manifests(file: tuple[str, str]) -> str:
    try:
        manifests = parsed_manifests([file])
        for tenant in manifests.tenants:
            tenant.check()
            decide(tenant.manifest, Facts(PLANS))
        for fault in manifests.faults:
            str(fault).encode()
    except Rejection as error:
        lines = [tenant.line_of(each.field) for tenant in manifests.tenants for each in error.each]
        str(error).encode()
        return "rejected" if all(lines) else f"{file[1][:2000]}\n  -> no line"
    except Exception as error:
        return f"{file[1][:2000]!r}\n  -> {type(error).__name__}: {str(error)[:500]}"
    return "rejected" if manifests.faults else "built"


CHECKS: dict[str, Any] = {
    "plans": (plans_documents, check_plans),
    "manifests": (manifest_texts, check_manifests),
}


def expect_no_unexpected_error(name: str, count: int, *, is_random: bool = False) -> None:
    strategy, check = CHECKS[name]
    outcomes = [check(value) for value in generated(strategy(), count, is_random=is_random)]
    assert {"built", "rejected"} <= set(outcomes)
    unexpected = sorted(set(outcomes) - {"built", "rejected"}, key=len)
    assert not unexpected, f"{len(unexpected)} unexpected outcomes:\n" + "\n".join(unexpected[:10])


@pytest.mark.parametrize("name", CHECKS)
def test_hostile_document_is_built_or_rejected(name: str) -> None:
    expect_no_unexpected_error(name, 50)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", CHECKS)
def test_thousands_of_hostile_documents_are_built_or_rejected(name: str) -> None:
    expect_no_unexpected_error(name, 1650, is_random=True)


@pytest.mark.parametrize("marker", LARGE_VALUES)
def test_large_value_in_a_manifest_is_rejected(marker: str) -> None:
    """Tries each large value at a field that accepts any object. Hypothesis does not select the values."""
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": [marker]}}
    text = json_text(tenant_manifest("fuzz", extraResources=[item]))
    assert check_manifests(("a.json", text)) == "rejected"
    assert json.dumps(marker) not in text
