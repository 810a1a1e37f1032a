"""Errors in the CLI's output become typed errors. Locks of ended processes are detected."""

import os
import socket
from datetime import UTC, datetime

import psutil
import pytest

from stacks.errors import (
    AccessDenied,
    BackendUnreachable,
    ClusterUnreachable,
    Lock,
    StackBusy,
    StackError,
    StackNotFound,
    StorageFailed,
    stack_error,
    without_secrets,
)
from stacks.ownership.lock import is_abandoned

ERROR_BY_OUTPUT: dict[str, type[StackError]] = {
    "error: no stack named 'tenant-x' found": StackNotFound,
    "error: configured Kubernetes cluster is unreachable: dial tcp": ClusterUnreachable,
    'roles is forbidden: User "x" cannot create resource': AccessDenied,
    "error: unable to open bucket s3://nowhere": BackendUnreachable,
    "error: failed to open database: dial tcp 127.0.0.1:5432: connection refused": BackendUnreachable,
    "error: could not save: write /state/x.json: no space left on device": StorageFailed,
    "error: something else": StackError,
}


@pytest.mark.parametrize("output", ERROR_BY_OUTPUT)
def test_output_maps_to_its_error(output: str) -> None:
    assert type(stack_error(output)) is ERROR_BY_OUTPUT[output]


def test_busy_error_has_the_lock() -> None:
    error = stack_error(
        "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or "
        "delete the lock file with `pulumi cancel`.\n  file:///s/.pulumi/locks/a.json: created by "
        "jane@host.example (pid 42) at 2026-01-02T03:04:05Z"
    )
    assert isinstance(error, StackBusy)
    assert error.locks == (Lock("jane", "host.example", 42, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),)


def test_diagnostics_are_preferred_to_the_whole_output_and_kept_short() -> None:
    error = stack_error("stderr: noise " * 500, ("tenant-x: quota\nis bad",))
    assert str(error) == "tenant-x: quota is bad"
    assert len(str(stack_error("noise " * 500))) == 1000


def test_message_omits_the_providers_prefix() -> None:
    diagnostic = (
        'n/q: resource "urn:pulumi:x::y::z$a:b/v1:Quota::n/q" was not successfully created by the '
        'Kubernetes API server: ResourceQuota "q" is invalid'
    )
    assert str(stack_error("", (diagnostic,))) == 'n/q: ResourceQuota "q" is invalid'


def test_message_is_the_commands_stderr() -> None:
    assert (
        str(stack_error("\n code: 255\n stdout: Updating...\n stderr: error: it is\n  broken\n"))
        == "it is broken"
    )


def test_passwords_in_urls_are_redacted() -> None:
    error = stack_error("error: failed to open database postgres://me:hunter2@db.example/state")
    assert str(error) == "failed to open database postgres://***@db.example/state"
    assert without_secrets("s3://b?region=x&secret_key=y z") == "s3://b?region=x&secret_key=*** z"
    assert without_secrets("postgres://me:p@ss/w@db/s") == "postgres://***@db/s"


def test_lock_of_this_very_process_is_not_abandoned() -> None:
    assert not is_abandoned(Lock("me", socket.gethostname(), os.getpid(), datetime.now(UTC)))


def test_lock_of_a_dead_process_is_abandoned() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert is_abandoned(Lock("me", socket.gethostname(), child, datetime.now(UTC)))


def test_lock_older_than_the_process_with_its_pid_is_abandoned() -> None:
    """The lock must not be older than this machine. `tests/tenancy/test_leaders.py` checks older locks."""
    earlier = datetime.fromtimestamp(psutil.Process(1).create_time(), UTC)
    assert is_abandoned(Lock("me", socket.gethostname(), os.getpid(), earlier))


def test_lock_of_another_host_is_never_abandoned() -> None:
    assert not is_abandoned(Lock("me", "elsewhere", 2**22 + 1, datetime.now(UTC)))
