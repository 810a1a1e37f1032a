"""What can go wrong with a stack, and the one table that turns the CLI's words into it.

StackError           the operation failed; trying again later may help
├── StackBusy        another process holds the stack's lock
├── StackNotFound    the backend has no such stack
├── StackTimeout     the operation took too long and was ended
├── PulumiMissing    there is no command to run, or one too old
├── ClusterUnreachable, BackendUnreachable
├── StorageFailed    a disk is full, or can't be written
└── AccessDenied     the cluster refuses what the program asks for

StackStopped         the operation was ended because this process is stopping
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

_MESSAGE_MAX_LENGTH: Final = 1000


class StackError(Exception):
    """A failed operation. `reason` is its name in conditions and events."""

    reason = "UpdateFailed"


class StackNotFound(StackError):
    reason = "StackNotFound"


class StackTimeout(StackError):
    reason = "Timeout"


class StackStopped(Exception):
    """The operation did not end, or did not start, because this process is stopping. Nobody's fault."""


class ClusterUnreachable(StackError):
    reason = "ClusterUnreachable"


class BackendUnreachable(StackError):
    reason = "BackendUnreachable"


class PulumiMissing(StackError):
    reason = "PulumiMissing"


class StorageFailed(StackError):
    reason = "StorageFailed"


class AccessDenied(StackError):
    reason = "AccessDenied"


@dataclass(frozen=True)
class Lock:
    """Who holds a stack, as the backend tells it."""

    user: str
    host: str
    pid: int
    since: datetime


class StackBusy(StackError):
    reason = "UpdateConflict"

    def __init__(self, message: str, locks: tuple[Lock, ...] = ()) -> None:
        super().__init__(message)
        self.locks = locks


_LOCK = re.compile(r"created by (?P<user>.*)@(?P<host>[^@\s]+) \(pid (?P<pid>\d+)\) at (?P<since>\S+)")

# First match wins; the text is what the CLI and the provider print.
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
# What the provider puts before the API server's own words; the object is named already.
_PREAMBLE = re.compile(r'resource "urn:[^"]*" was not successfully \w+ by the Kubernetes API server: ')
_BUSY = re.compile(r"the stack is currently locked by|Another update is currently in progress")


def stack_error(output: str, diagnostics: tuple[str, ...] = ()) -> StackError:
    """The error that a failed command's output and the engine's own diagnostics tell of."""
    if _BUSY.search(output):
        locks = tuple(
            Lock(found["user"], found["host"], int(found["pid"]), datetime.fromisoformat(found["since"]))
            for found in _LOCK.finditer(output)
        )
        holders = ", ".join(f"{lock.user}@{lock.host} (pid {lock.pid}) since {lock.since}" for lock in locks)
        return StackBusy(f"the stack is locked by {holders or 'another update'}", locks)
    # The Automation API puts code, stdout and stderr into one text; the CLI's own words come last.
    words = output.rpartition("stderr:")[2].strip().removeprefix("error: ")
    message = _brief("; ".join(diagnostics) or words or output)
    text = "\n".join(diagnostics) + output
    for pattern, error in _REASONS:
        if pattern.search(text):
            return error(message)
    return StackError(message)


def without_secrets(text: str) -> str:
    """The text with the passwords of URLs in it struck out."""
    return _PASSWORD.sub(lambda found: "://***@" if found[1] else f"{found[2]}***", text)


def _brief(text: str) -> str:
    """One short line: it goes into logs, status and events."""
    text = _PREAMBLE.sub("", without_secrets(text))
    lines = [line.strip() for line in text.splitlines()]
    joined = " ".join(line for line in lines if line)
    return joined if len(joined) <= _MESSAGE_MAX_LENGTH else joined[: _MESSAGE_MAX_LENGTH - 1] + "…"
