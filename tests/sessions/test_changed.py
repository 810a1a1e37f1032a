"""What was decided about a session is not written to another: a namesake, or one whose spec has changed."""

import pytest

from cluster.client import ClusterError
from cluster.informer import Informer
from tenancy.base.kinds import AISESSION, NAMESPACE
from tenancy.spec.aisession import AISessionStatus, SessionPhase
from tests.sessions.sessions import Sessions
from watcher.sessions.live_sessions import LiveSessions

DECIDED = AISessionStatus(phase=SessionPhase.FAILED, reason="Decided")


@pytest.fixture
def live(sessions: Sessions) -> LiveSessions:
    """As a second watcher would have it, in a tenant that starts none."""
    sessions.set_limit(0)
    namespaces = Informer(sessions.platform.admin, NAMESPACE, lambda _before, _after: None)
    return LiveSessions(sessions.platform.admin, namespaces, lambda _tenant: None)


def test_decision_is_written_to_the_session_that_was_judged(sessions: Sessions, live: LiveSessions) -> None:
    judged = sessions.create("judged")
    sessions.await_phase("judged", "Pending", "Queued")
    assert live.write_status(judged, DECIDED)
    assert sessions.status("judged")["reason"] == "Decided"


def test_changed_spec_is_judged_anew(sessions: Sessions, live: LiveSessions) -> None:
    judged = sessions.create("moved")
    sessions.await_phase("moved", "Pending", "Queued")
    change = {"spec": {"timeout": "2h"}}
    sessions.platform.admin.patch(AISESSION, "moved", change, namespace=sessions.namespace)
    assert not live.write_status(judged, DECIDED)
    assert sessions.status("moved")["phase"] == "Pending"


def test_namesake_is_judged_anew(sessions: Sessions, live: LiveSessions) -> None:
    judged = sessions.create("twin")
    sessions.delete("twin")
    assert not live.write_status(judged, DECIDED)
    sessions.create("twin")
    assert not live.write_status(judged, DECIDED)
    assert sessions.await_phase("twin", "Pending", "Queued")


def test_write_that_is_refused_is_told(sessions: Sessions, live: LiveSessions) -> None:
    judged = sessions.create("sound")
    with pytest.raises(ClusterError, match="startTime"):
        live.write_status(judged, AISessionStatus(start_time="no time at all"))
