"""The watcher writes Events about a session, and writes the selected model to the session's status."""

from collections import Counter
from pathlib import Path

from tenancy.base.kinds import AISESSION, EVENT
from tests.platform import NewTenant, Platform
from tests.sessions.sessions import Sessions, sessions_of, start_watcher
from tests.waiting import eventually


def events_of(sessions: Sessions, name: str) -> list[tuple[str, str, str]]:
    """The type, reason and message of each Event about the session, oldest first."""
    fields = f"involvedObject.kind={AISESSION.kind},involvedObject.name={name}"
    events = sessions.platform.admin.list(EVENT, namespace=sessions.namespace, fields=fields)[0]
    # The name of an Event ends with its creation time.
    events.sort(key=lambda event: str(event["metadata"]["name"]))
    return [(event["type"], event["reason"], event["message"]) for event in events]


def await_event(sessions: Sessions, name: str, reason: str, start: str = "") -> None:
    eventually(
        lambda: any(entry[1] == reason and entry[2].startswith(start) for entry in events_of(sessions, name)),
        lambda: f"{name} has an Event {reason} {start}; has {events_of(sessions, name)}",
    )


def test_each_phase_and_reason_has_one_event(sessions: Sessions) -> None:
    sessions.set_limit(0)
    sessions.create("told", "endless")
    await_event(sessions, "told", "Waiting", "Queued: ")
    sessions.set_limit(1)
    sessions.await_phase("told", "Running")
    await_event(sessions, "told", "Started")
    sessions.finish("told")
    sessions.await_phase("told", "Completed")
    await_event(sessions, "told", "Completed")
    entries = events_of(sessions, "told")
    assert [entry[:2] for entry in entries] == [
        ("Normal", "Waiting"),
        ("Normal", "Started"),
        ("Normal", "Completed"),
    ]
    assert entries[1][2] == "the session runs in Job aisession-told with model endless"


def test_failed_and_terminated_sessions_have_a_warning(sessions: Sessions) -> None:
    sessions.create("failing", "bad")
    sessions.create("late", "endless", timeout="1s")
    await_event(sessions, "failing", "Failed", "Error: the container failed with exit code 1")
    await_event(sessions, "late", "Terminated", "DeadlineExceeded: ")
    assert ("Warning", "Failed") in [entry[:2] for entry in events_of(sessions, "failing")]
    assert ("Warning", "Terminated") in [entry[:2] for entry in events_of(sessions, "late")]


def test_retries_of_a_rejected_start_add_no_events(platform: Platform, new_tenant: NewTenant) -> None:
    new_tenant("choosy", registries=["registry.example/other"])
    sessions = sessions_of(platform, "choosy")
    sessions.create("refused")
    sessions.await_phase("refused", "Pending", "PodRefused")

    def retries() -> int:
        messages = Counter(line["message"] for line in platform.log() if "refused" in str(line))
        return messages["session waits: pod rejected"]

    eventually(lambda: retries() >= 3, "the start was tried again")
    (event,) = events_of(sessions, "refused")
    assert event[:2] == ("Warning", "Waiting")
    assert event[2].startswith("PodRefused: ")


def test_restart_of_the_watcher_adds_no_events(sessions: Sessions, plans_file: Path) -> None:
    sessions.set_limit(0)
    sessions.create("calm")
    await_event(sessions, "calm", "Waiting")
    sessions.platform.stop()
    start_watcher(sessions.platform, plans_file)
    sessions.create("newer")
    await_event(sessions, "newer", "Waiting")
    assert len(events_of(sessions, "calm")) == 1


def test_session_with_the_longest_name_has_events(sessions: Sessions) -> None:
    name = "n" * 229 + "-" + "x" * 23
    sessions.set_limit(0)
    sessions.create(name)
    await_event(sessions, name, "Waiting")


def test_status_has_the_model_of_the_type_or_of_the_spec(sessions: Sessions) -> None:
    sessions.set_limit(0)
    sessions.create("by-type", model=None)
    sessions.create("by-spec", "plain")
    assert "aiModel" not in sessions.await_phase("by-type", "Pending", "Queued")
    sessions.set_limit(2)
    assert sessions.await_phase("by-type", "Completed")["aiModel"] == "good"
    assert sessions.await_phase("by-spec", "Completed")["aiModel"] == "plain"
