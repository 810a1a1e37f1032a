"""Operations on stacks in each kind of state backend."""

import json
import os
import socket
from datetime import UTC, datetime

import pytest

from embedded.controlplane.plane import ControlPlane
from stacks.errors import StackBusy
from stacks.operation import EngineName
from stacks.stack import Stacks
from stacks.storage.pruning import HistoryLimits, Pruned
from stacks.survey import stack_locks, stack_names
from tests.backends.conftest import OpenStacks, on_each_backend_and_engine
from tests.stacks.conftest import desired
from tests.stacks.test_deleted_tenants import tenant
from tests.stacks.test_history import record
from tests.state_backends import Scheme, StateBackend


def lock(stacks: Stacks, stack: str, pid: int) -> str:
    """Lock a stack as a process with this pid does. Return the key of the lock."""
    key = f".pulumi/locks/organization/tenancy/{stack}/other.json"
    content = {"pid": pid, "username": "me", "hostname": socket.gethostname()}
    stacks.stored.write(key, json.dumps({**content, "timestamp": datetime.now(UTC).isoformat()}).encode())
    return key


@on_each_backend_and_engine
def test_stack_is_updated_locked_pruned_and_destroyed(
    backend: StateBackend,
    open_stacks: OpenStacks,
    engine: EngineName,
    scheme: Scheme,
    control_plane: ControlPlane,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    name = f"{scheme}-{engine}"
    stack, state = f"tenant-{name}", desired(name)
    stacks = open_stacks(engine)
    assert stacks.up(state, "spec generation 1", record(state, {})).version == 1
    assert stack_names(backend.url) == [stack]

    # After a restart, nothing changes. The salt is the same, so that the state is not encrypted again.
    salt = stacks.stored.read(".pulumi/tenancy-salt")
    stacks = open_stacks(engine)
    assert stacks.stored.read(".pulumi/tenancy-salt") == salt
    assert stacks.preview(state).counts.keys() == {"same"}
    assert len(stacks.objects(name)) == len(state.by_key)
    for generation in (2, 3):
        assert stacks.up(state, f"spec generation {generation}", record(state, {})).version == generation

    # The lock of a running process is respected. The lock of a dead process is removed.
    key = lock(stacks, stack, os.getpid())
    assert [held for held, _ in stack_locks(backend.url)] == [stack]
    with pytest.raises(StackBusy, match=f"pid {os.getpid()}"):
        stacks.up(state, "locked")
    (result,) = stacks.histories.prune([name], HistoryLimits(2, 90))
    assert (result.removed, "locked" in result.problem) == (0, True)
    stacks.stored.delete(key)
    lock(stacks, stack, 2**22 - 1)
    assert stacks.refresh(name, "after a crash").version == 4
    assert stack_locks(backend.url) == []

    assert stacks.histories.prune([name, "nobody"], HistoryLimits(2, 90)) == [
        Pruned(stack, removed=2, kept=2),
        Pruned("tenant-nobody", removed=0, kept=0),
    ]
    updates = stacks.history(name)
    assert [(update.version, update.cause) for update in updates] == [
        (4, "after a crash"),
        (3, "spec generation 3"),
    ]
    assert updates[1].record == record(state, {})

    stacks.histories.keep_deleted(tenant(name, "uid-1"))
    assert stacks.destroy(name, "bye") is not None
    assert stack_names(backend.url) == []
    (deleted,) = stacks.histories.deleted.list()
    assert (deleted.name, [update["message"] for update in deleted.updates]) == (
        name,
        ["after a crash", "spec generation 3"],
    )
    stacks.histories.deleted.remove_expired(deleted.expires)
    assert stacks.histories.deleted.list() == []
    assert stacks.destroy(name, "again") is None
