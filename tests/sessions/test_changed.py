"""The watcher does not write the status of a session that was recreated or whose spec has changed."""

import pytest

from cluster.errors import ClusterError
from cluster.informer import Informer
from tenancy.base.kinds import AISESSION, NAMESPACE
from tenancy.spec.aisession import AISessionStatus, SessionPhase
from tests.sessions.sessions import Sessions
from watcher.sessions.live_sessions import LiveSessions

STATUS = AISessionStatus(phase=SessionPhase.FAILED, reason="Decided")


@pytest.fixture
def live(sessions: Sessions) -> LiveSessions:
    """The sessions as a second watcher reads them. The tenant's limit is 0, so no session starts."""
    sessions.set_limit(0)
    namespaces = Informer(sessions.platform.admin, NAMESPACE, lambda _before, _after: None)
    return LiveSessions(sessions.platform.admin, namespaces, lambda _tenant: None)


def test_status_is_written_to_an_unchanged_session(sessions: Sessions, live: LiveSessions) -> None:
    session = sessions.create("unchanged")
    sessions.await_phase("unchanged", "Pending", "Queued")
    assert live.write_status(session, STATUS)
    assert sessions.status("unchanged")["reason"] == "Decided"


def test_status_is_not_written_after_a_change_of_the_spec(sessions: Sessions, live: LiveSessions) -> None:
    session = sessions.create("moved")
    sessions.await_phase("moved", "Pending", "Queued")
    change = {"spec": {"timeout": "2h"}}
    sessions.platform.admin.patch(AISESSION, "moved", change, namespace=sessions.namespace)
    assert not live.write_status(session, STATUS)
    assert sessions.status("moved")["phase"] == "Pending"


def test_status_is_not_written_to_a_recreated_session(sessions: Sessions, live: LiveSessions) -> None:
    session = sessions.create("twin")
    sessions.delete("twin")
    assert not live.write_status(session, STATUS)
    sessions.create("twin")
    assert not live.write_status(session, STATUS)
    assert sessions.await_phase("twin", "Pending", "Queued")


def test_rejected_write_raises(sessions: Sessions, live: LiveSessions) -> None:
    session = sessions.create("sound")
    with pytest.raises(ClusterError, match="startTime"):
        live.write_status(session, AISessionStatus(start_time="no time at all"))
