"""`tenancy state`: move, back up and restore the state backend, and change the passphrase."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from stacks.errors import StackError
from stacks.operation import EngineName
from stacks.stack import Stacks
from stacks.storage.transfer import back_up_stacks, move_stacks, restore_stacks, rotate_passphrase
from stacks.survey import stack_names
from tenancy.base.platform_names import CLUSTER_STACK
from tenancy.desired import DesiredState
from tests.backends.conftest import OpenStacks, on_each_backend
from tests.stacks.conftest import desired
from tests.stacks.test_deleted_tenants import tenant
from tests.stacks.test_history import record
from tests.state_backends import Scheme, StateBackend, StateServers


def without_objects(name: str) -> DesiredState:
    """A desired state without objects, so that an update needs no cluster."""
    return replace(desired(name), manifests=())


def causes(stacks: Stacks, name: str) -> list[tuple[int, str]]:
    return [(update.version, update.cause) for update in stacks.history(name)]


def test_stacks_move_from_backend_to_backend_with_their_histories(
    backend: StateBackend,
    servers: StateServers,
    open_stacks: OpenStacks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stacks of one backend are moved to each of the others, and back to a new file backend."""
    state = without_objects("moved")
    stacks = open_stacks(EngineName.WARM)
    for generation in (1, 2):
        stacks.up(state, f"spec generation {generation}", record(state, {}))
    stacks.histories.keep_deleted(tenant("gone", "uid-1"))
    binding = stacks.cluster_record.claim("uid-of-the-cluster")
    before = causes(stacks, "moved")
    stacks.close()
    route = [
        backend,
        *(servers.new(scheme, tmp_path) for scheme in (Scheme.S3, Scheme.POSTGRES, Scheme.FILE)),
    ]
    for each in route:
        for name, value in each.environment.items():
            monkeypatch.setenv(name, value)
    for source, target in pairwise(route):
        # A second run after an interruption writes nothing again. A backup is such an interrupted move.
        assert back_up_stacks(source.url, target.url) == 2
        with pytest.raises(StackError, match="incomplete copy"):
            open_stacks(EngineName.WARM, target.url)
        assert move_stacks(source.url, target.url) == 2
        with pytest.raises(StackError, match="moved to another backend"):
            open_stacks(EngineName.WARM, source.url)
    stacks = open_stacks(EngineName.WARM, route[-1].url)
    assert causes(stacks, "moved") == before
    assert stacks.cluster_record.read() == binding
    assert [each.name for each in stacks.histories.deleted.list()] == ["gone"]
    assert stacks.up(state, "spec generation 3").version == 3
    with pytest.raises(StackError, match="contains stacks already"):
        move_stacks(route[0].url, route[-1].url)
    stacks.destroy("moved", "bye")


@on_each_backend
def test_backup_is_restored_and_the_passphrase_rotated(
    backend: StateBackend,
    open_stacks: OpenStacks,
    servers: StateServers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scheme: Scheme,
) -> None:
    name = f"restored-{scheme}"
    state, backup = without_objects(name), servers.new(Scheme.FILE, tmp_path).url
    stacks = open_stacks(EngineName.WARM)
    binding = stacks.cluster_record.claim("uid-of-the-cluster")
    stacks.up(state, "spec generation 1", record(state, {}))
    assert back_up_stacks(backend.url, backup) == 2
    stacks.up(state, "spec generation 2", record(state, {}))
    stacks.close()

    with pytest.raises(StackError, match="contains stacks already"):
        restore_stacks(backup, backend.url, is_overwriting=False)
    assert restore_stacks(backup, backend.url, is_overwriting=True) == 2
    stacks = open_stacks(EngineName.WARM)
    assert causes(stacks, name) == [(1, "spec generation 1")]
    assert stacks.up(state, "restored", record(state, {}), refresh=True).version == 2
    stacks.close()

    assert rotate_passphrase(backend.url, "new-passphrase") == 1
    assert (
        rotate_passphrase(backend.url, "new-passphrase") == 0
    )  # Repeated, for example after an interruption.
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "new-passphrase")
    stacks = open_stacks(EngineName.WARM)
    assert stacks.cluster_record.read() == binding
    assert stacks.preview(state).counts.keys() == {"same"}
    assert stacks.up(state, "rotated").version == 3
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "wrong")
    with pytest.raises(StackError, match="incorrect passphrase"):
        rotate_passphrase(backend.url, "another")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "new-passphrase")
    stacks.destroy(name, "bye")
    assert stack_names(backend.url) == [CLUSTER_STACK]
