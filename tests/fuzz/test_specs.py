"""Sends hostile Tenants and AISessions to the real API server as dry runs, and validates them with models.

- If the API server accepts a manifest, its desired state must be computed, or the manifest must be rejected
  with a field and a reason.
- If a model rejects a manifest, the API server must reject the manifest too. `known_differences` lists the
  exceptions.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import strategies as st
from pydantic import ValidationError

from tenancy.base.errors import combined, rejections_of
from tenancy.base.kinds import AISESSION, TENANTS
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUP
from tenancy.base.validation import Problem, validation_problems
from tenancy.decision import Facts, decide
from tenancy.plans import read_plans
from tenancy.spec.aisession import AISessionSpec
from tenancy.spec.crd import aisession_crd, tenant_crds
from tenancy.spec.tenant import tenant_from_manifest
from tests.fuzz.hostile_values import TEXTS, json_text
from tests.fuzz.known_differences import KNOWN_DIFFERENCES, is_known
from tests.fuzz.raw_api import Answer, RawApi
from tests.fuzz.strategies import changed_samples, generated, schema_values
from tests.platform import ROOT, Platform, tenant_manifest

PLANS = read_plans()
NAMESPACE = "tenant-fuzzed"
# The maximum length of a condition's message.
MESSAGE_MAX_LENGTH = 32768
SAMPLES = [
    *(
        yaml.safe_load((ROOT / "examples" / f"{name}.yaml").read_text())["spec"]
        for name in ("team", "more/everything")
    ),
    {
        "adopt": True,
        "namespaces": [{"name": "old", "existing": "legacy"}, {"name": "new"}],
        "istio": {"enabled": True, "gatewaySelector": {"istio": "gateway"}, "tlsSecret": "cert"},
        "gatekeeper": {"enabled": True},
        "hnc": {"enabled": True, "parent": "new"},
        "nodeSelector": {"pool": "a"},
        "dedicatedNodes": "pool",
        "network": {"ingressController": {"a": "b"}, "monitoring": {"c": "d"}},
        "extraResources": [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s"},
                "spec": {"ports": [{"port": 1}]},
            }
        ],
    },
]
SESSION = {
    "tenantRef": {"name": "fuzzed"},
    "sessionType": "analysis",
    "aiModel": "standard",
    "resources": {"cpu": "250m", "memory": "1Gi"},
    "timeout": "10m",
}


def spec_schema(crd: Manifest) -> Manifest:
    schema: Manifest = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


def tenants() -> st.SearchStrategy[Manifest]:
    names = st.sampled_from(["fuzz"] * 40 + TEXTS)
    specs = st.one_of(
        changed_samples(SAMPLES), changed_samples(SAMPLES), schema_values(spec_schema(tenant_crds()[0]))
    )
    return st.builds(lambda name, spec: tenant_manifest(name) | {"spec": spec}, names, specs)


def sessions() -> st.SearchStrategy[Manifest]:
    specs = st.one_of(changed_samples([SESSION]), schema_values(spec_schema(aisession_crd())))
    return specs.map(
        lambda spec: {
            "apiVersion": f"{GROUP}/v1",
            "kind": "AISession",
            "metadata": {"name": "fuzz", "namespace": NAMESPACE},
            "spec": spec,
        }
    )


def tenant_problems(stored: Manifest) -> list[Problem]:
    """The problems that the model finds in the Tenant.

    Fails unless the Tenant's desired state can be computed, or the Tenant is rejected with a field and a
    reason.
    """
    rejections = rejections_of(lambda: decide(stored, Facts(PLANS)).desired.digest)
    assert all(each.field and each.problem and each.reason for each in rejections), rejections
    if rejections:
        assert len(str(combined(rejections))) <= MESSAGE_MAX_LENGTH
    by_model = rejections_of(lambda: tenant_from_manifest(stored))
    return [Problem(each.field, each.problem) for each in by_model]


def session_problems(stored: Manifest) -> list[Problem]:
    try:
        AISessionSpec.model_validate(stored["spec"])
    except ValidationError as error:
        return validation_problems(error, "spec")
    return []


def failures(answers: list[Answer], problems_of: Any) -> list[str]:
    """One text for each manifest with an unexpected outcome."""
    found: list[str] = []
    for answer in answers:
        shown = f"{answer.text[:2000]}\n  -> "
        if answer.stored is None:
            if not 400 <= answer.status < 500 or not answer.message:
                found.append(f"{shown}the API server responded {answer.status} {answer.message[:500]}")
            continue
        try:
            unknown = [problem for problem in problems_of(answer.stored) if not is_known(problem)]
        except Exception as error:
            found.append(f"{shown}{type(error).__name__}: {str(error)[:500]}")
        else:
            found += [f"{shown}only the model rejects it: {str(problem)[:500]}" for problem in unknown[:1]]
    return sorted(found, key=len)


def check(platform: Platform, tenant_count: int, session_count: int, *, is_random: bool = False) -> None:
    api = RawApi(platform.admin_kubeconfig)
    found: list[str] = []
    for kind, namespace, strategy, count, problems_of in (
        (TENANTS[0], "", tenants(), tenant_count, tenant_problems),
        (AISESSION, NAMESPACE, sessions(), session_count, session_problems),
    ):
        manifests = generated(strategy, count, is_random=is_random)
        assert len(manifests) > count / 2
        answers = api.create_all(kind, namespace, map(json_text, manifests))
        accepted = sum(answer.stored is not None for answer in answers)
        assert count / 20 < accepted < len(answers), f"{accepted} of {len(answers)} are accepted"
        found += failures(answers, problems_of)
    assert not found, f"{len(found)} unexpected outcomes:\n" + "\n".join(found[:20])


@pytest.fixture
def tenant(platform: Platform) -> Iterator[None]:
    """Create the tenant of the AISessions.

    The API server rejects AISessions outside of tenants' namespaces.
    """
    manifest = tenant_manifest("fuzzed")
    platform.add(manifest)
    platform.await_active(manifest)
    yield
    platform.abandon(manifest)


@pytest.mark.usefixtures("tenant")
def test_hostile_specs_are_built_or_rejected_by_field(platform: Platform) -> None:
    check(platform, 150, 50)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("tenant")
def test_thousands_of_hostile_specs_are_built_or_rejected_by_field(platform: Platform) -> None:
    check(platform, 5000, 1700, is_random=True)


def test_each_known_difference_still_exists(platform: Platform) -> None:
    """If the API server now rejects the example too, remove the difference from the list."""
    texts = [json_text(tenant_manifest("fuzz", **known.example)) for known in KNOWN_DIFFERENCES]
    answers = RawApi(platform.admin_kubeconfig).create_all(TENANTS[0], "", texts)
    for known, answer in zip(KNOWN_DIFFERENCES, answers, strict=True):
        assert answer.stored is not None, f"{known.name}: {answer.message}"
        problems = tenant_problems(answer.stored)
        assert any(known.matches(problem) for problem in problems), f"{known.name}: {problems}"
