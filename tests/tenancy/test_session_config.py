"""The section `sessions` of the plans file, and the setting `maxSessions`."""

from typing import Any

import pytest
import yaml

from tenancy.base.errors import PlansError
from tenancy.desired import desired_state
from tenancy.plans import Plan, Plans, plans_from_text, read_plans
from tenancy.spec.aisession import SessionType
from tenancy.spec.effective_settings import effective_settings
from tenancy.spec.tenant import TenantSpec, tenant_from_manifest
from tests.platform import tenant_manifest

PLAN = {"maxNamespaces": 1, "quotas": [{"name": "q", "hard": {"cpu": 1}}], "limits": {}}
ANALYSIS = {"image": "registry.example/a:1", "model": "small"}


def plans(sessions: dict[str, Any] | None = None, **plan: Any) -> Plans:
    content: dict[str, Any] = {"plans": {"basic": {**PLAN, **plan}}}
    if sessions is not None:
        content["sessions"] = sessions
    return plans_from_text(yaml.safe_dump(content))


def test_shipped_file_has_all_types_and_their_models() -> None:
    shipped = read_plans()
    assert set(shipped.sessions.types) == set(SessionType)
    assert {config.model for config in shipped.sessions.types.values()} <= set(shipped.sessions.models)
    assert {plan.max_sessions for plan in shipped.plans.values()} == {3}


def test_file_without_sessions_offers_none() -> None:
    assert plans().sessions.types == {}


def test_type_is_told_apart_by_its_name() -> None:
    config = plans({"types": {"analysis": ANALYSIS}, "models": {"small": {}}}).sessions
    assert config.types[SessionType.ANALYSIS].image == "registry.example/a:1"
    assert config.types[SessionType.ANALYSIS].service_account == "default"


@pytest.mark.parametrize(
    ("sessions", "message"),
    [
        ({"types": {"chat": ANALYSIS}}, r"sessions\.types\.chat"),
        ({"types": {"analysis": {"model": "small"}}}, r"sessions\.types\.analysis\.image: is required"),
        (
            {"types": {"analysis": ANALYSIS}},
            r"types\.analysis\.model: there is no model 'small'",
        ),
        (
            {"types": {"analysis": {**ANALYSIS, "image": "two words"}}, "models": {"small": {}}},
            r"sessions\.types\.analysis\.image",
        ),
        (
            {"types": {"analysis": {**ANALYSIS, "serviceAccount": "Not One"}}, "models": {"small": {}}},
            r"sessions\.types\.analysis\.serviceAccount",
        ),
        ({"models": {"small": {"env": {"1x": "y"}}}}, r"small\.env\.1x: '1x' must be the name"),
        (
            {"models": {"small": {"env": {"AISESSION_NAME": "y"}}}},
            r"sessions\.models\.small\.env\.AISESSION_NAME: 'AISESSION_NAME' is reserved",
        ),
        ({"model": {}}, r"sessions\.model: there is no such field"),
    ],
)
def test_fault_is_told_by_its_field(sessions: dict[str, Any], message: str) -> None:
    with pytest.raises(PlansError, match=message):
        plans(sessions)


@pytest.mark.parametrize(
    ("plan", "tenant", "limit"),
    [({}, {}, 3), ({"maxSessions": 5}, {}, 5), ({"maxSessions": 5}, {"maxSessions": 0}, 0)],
)
def test_limit_is_the_tenants_else_the_plans_else_three(
    plan: dict[str, int], tenant: dict[str, int], limit: int
) -> None:
    settings = effective_settings(Plan.model_validate({**PLAN, **plan}), TenantSpec.model_validate(tenant))
    assert settings.max_sessions == limit


def test_neither_limit_nor_sessions_change_what_a_tenant_is_made_of() -> None:
    tenant = tenant_from_manifest(tenant_manifest("t", plan="basic"))
    limited = tenant_from_manifest(tenant_manifest("t", plan="basic", maxSessions=9))
    sessions = {"types": {"analysis": ANALYSIS}, "models": {"small": {}}}
    digests = {
        desired_state(tenant, plans()).digest,
        desired_state(tenant, plans(sessions, maxSessions=1)).digest,
        desired_state(limited, plans()).digest,
    }
    assert len(digests) == 1
