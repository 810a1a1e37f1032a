"""A malformed AISession does not affect other AISessions."""

from typing import Any, cast

import pytest

from tenancy.base.manifest import Manifest
from tenancy.sessions.row import session_row
from watcher.sessions.live_sessions import LiveSessions


def session(name: str, **body: Any) -> Manifest:
    metadata = {
        "name": name,
        "namespace": "tenant-solid",
        "uid": name,
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"apiVersion": "platform.ai/v1", "kind": "AISession", "metadata": metadata, **body}


@pytest.mark.parametrize("body", [{}, {"spec": None}, {"spec": {}}, {"spec": {"tenantRef": {"name": 7}}}])
def test_session_without_a_tenant_does_not_end_the_informer(body: dict[str, Any]) -> None:
    """The API server has stored the session with an older CRD, in which `tenantRef` was optional."""
    changed: list[str] = []
    nothing = cast(Any, None)
    live = LiveSessions(nothing, nothing, changed.append)
    malformed, sound = session("old", **body), session("new", spec={"tenantRef": {"name": "solid"}})
    # The informer of AISessions calls this method for each change.
    live._session_changed(None, malformed)
    live._session_changed(None, sound)
    live._session_changed(malformed, None)
    assert changed == ["solid"]
    assert session_row(malformed).tenant == ""
