"""The errors of stack operations, and a table that maps the output of the CLI to these errors.

StackError           the operation failed; a retry may succeed
├── StackBusy        another process holds the stack's lock
├── StackNotFound    the backend has no such stack
├── StackTimeout     the operation exceeded its time limit and was ended
├── PulumiMissing    the Pulumi CLI is missing or too old
├── OtherCluster     the backend belongs to another cluster
├── ClusterUnreachable, BackendUnreachable
├── StorageFailed    a disk is full or a file cannot be written
├── EngineCrashed    the warm engine or its provider process ended during the operation
└── AccessDenied     the API server forbids a request

StackStopped         the operation was ended because this process is stopping
EngineGone           this process of the warm engine accepts no requests; a new process is needed
EngineUnavailable    the warm engine cannot be used; the Pulumi CLI is used instead
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tenancy.base.reasons import Reason

_MESSAGE_MAX_LENGTH: Final = 1000


class StackError(Exception):
    """An operation failed. The conditions and Events of the Tenant contain the error's `reason`."""

    reason = Reason.UPDATE_FAILED


class StackNotFound(StackError):
    reason = Reason.STACK_NOT_FOUND


class StackTimeout(StackError):
    reason = Reason.TIMEOUT


class StackStopped(Exception):
    """An operation was interrupted or not started, because this process is stopping.

    This is not a failure of the operation, so the class is not a subclass of StackError.
    """


class ClusterUnreachable(StackError):
    reason = Reason.CLUSTER_UNREACHABLE


class BackendUnreachable(StackError):
    reason = Reason.BACKEND_UNREACHABLE


class PulumiMissing(StackError):
    reason = Reason.PULUMI_MISSING


class StorageFailed(StackError):
    reason = Reason.STORAGE_FAILED


class OtherCluster(StackError):
    """The backend records that another cluster uses it."""


class AccessDenied(StackError):
    reason = Reason.ACCESS_DENIED


class EngineCrashed(StackError):
    """The warm engine or its provider process ended during an operation.

    The operation may have changed some objects.
    """


class EngineGone(Exception):
    """A process of the warm engine accepts no requests. The operation was not started."""


class EngineUnavailable(Exception):
    """The warm engine cannot be used. The message says why."""


@dataclass(frozen=True)
class Lock:
    """A lock of a stack: who holds the lock (user, host and process), and since when."""

    user: str
    host: str
    pid: int
    since: datetime


class StackBusy(StackError):
    reason = Reason.UPDATE_CONFLICT

    def __init__(self, message: str, locks: tuple[Lock, ...] = ()) -> None:
        super().__init__(message)
        self.locks = locks


_LOCK = re.compile(r"created by (?P<user>.*)@(?P<host>[^@\s]+) \(pid (?P<pid>\d+)\) at (?P<since>\S+)")

# Patterns in the output of the CLI and the provider. The first pattern that matches is used.
_REASONS: Final[tuple[tuple[re.Pattern[str], type[StackError]], ...]] = (
    (re.compile(r"no stack named .* found"), StackNotFound),
    (
        re.compile(r"unable to open bucket|could not list bucket|failed to open database|postgres"),
        BackendUnreachable,
    ),
    (
        re.compile(r"configured Kubernetes cluster is unreachable|connection refused|no such host"),
        ClusterUnreachable,
    ),
    (re.compile(r"no space left on device|read-only file system|disk quota exceeded"), StorageFailed),
    (re.compile(r"is forbidden:|cannot (get|create|patch|delete|list) resource"), AccessDenied),
)
_PASSWORD = re.compile(
    r"(://)\S*@|([?&][^=&\s]*(?:password|secret|token|key)[^=&\s]*=)[^&\s]+", re.IGNORECASE
)
# The text that the provider puts before the API server's message. It only repeats the object's name.
_PREAMBLE = re.compile(r'resource "urn:[^"]*" was not successfully \w+ by the Kubernetes API server: ')
_BUSY = re.compile(r"the stack is currently locked by|Another update is currently in progress")


def stack_error(output: str, diagnostics: tuple[str, ...] = ()) -> StackError:
    """Create the error for a failed command.

    `output` is the output of the command. `diagnostics` contains the error messages of Pulumi's engine.
    """
    if _BUSY.search(output):
        locks = tuple(
            Lock(match["user"], match["host"], int(match["pid"]), datetime.fromisoformat(match["since"]))
            for match in _LOCK.finditer(output)
        )
        holders = ", ".join(f"{lock.user}@{lock.host} (pid {lock.pid}) since {lock.since}" for lock in locks)
        return StackBusy(f"the stack is locked by {holders or 'another update'}", locks)
    # The Automation API joins exit code, stdout and stderr into one text, with stderr last.
    stderr = output.rpartition("stderr:")[2].strip().removeprefix("error: ")
    message = _one_line("; ".join(diagnostics) or stderr or output)
    text = "\n".join(diagnostics) + output
    for pattern, error in _REASONS:
        if pattern.search(text):
            return error(message)
    return StackError(message)


def without_secrets(text: str) -> str:
    """A copy of the text in which `***` replaces the credentials in URLs."""
    return _PASSWORD.sub(lambda match: "://***@" if match[1] else f"{match[2]}***", text)


def _one_line(text: str) -> str:
    """Convert the text to one short line without secrets, for logs, status and Events."""
    text = _PREAMBLE.sub("", without_secrets(text))
    lines = [line.strip() for line in text.splitlines()]
    joined = " ".join(line for line in lines if line)
    return joined if len(joined) <= _MESSAGE_MAX_LENGTH else joined[: _MESSAGE_MAX_LENGTH - 1] + "…"
