"""The plans file defines the types and models of sessions.

Changes of the plans file take effect while the watcher is running.
"""

from pathlib import Path

from tenancy.base.kinds import AISESSION
from tests.platform import Platform
from tests.sessions.sessions import PLANS, TYPES, Sessions, set_plans


def test_type_that_is_not_offered_waits_until_it_is(
    platform: Platform, sessions: Sessions, plans_file: Path
) -> None:
    other_types = {kind: config for kind, config in TYPES.items() if kind != "research"}
    set_plans(platform, plans_file, {**PLANS, "sessions": {**PLANS["sessions"], "types": other_types}})
    sessions.create("early", kind="research")
    status = sessions.await_phase("early", "Pending", "NotConfigured")
    assert "sessions.types.research" in status["message"]
    set_plans(platform, plans_file, PLANS)
    sessions.await_phase("early", "Completed")


def test_unknown_model_is_waited_for_and_can_be_changed(sessions: Sessions) -> None:
    sessions.create("unknown", "huge")
    status = sessions.await_phase("unknown", "Pending", "UnknownModel")
    assert status["message"] == ("spec.aiModel: there is no model 'huge'; known: bad, endless, good, plain")
    change = {"spec": {"aiModel": "good"}}
    sessions.platform.admin.patch(AISESSION, "unknown", change, namespace=sessions.namespace)
    sessions.await_phase("unknown", "Completed")
