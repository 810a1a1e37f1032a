"""The requests to the warm engine and its answers. `engine/protocol.go` defines the same messages in Go."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stacks.errors import EngineCrashed, StackBusy, StackNotFound, StackTimeout, stack_error
from stacks.operation import Operation
from stacks.project import PROJECT_SETTINGS, record_config
from tenancy.desired import DesiredState
from tenancy.registrations import PROVIDER_VERSION, TENANT_TYPE, registrations

EVICT = b'{"operation":"evict"}\n'
STATUS = b'{"operation":"status"}\n'

# The time in which a canceled operation must save the stack's state and end. Then it is ended by force.
GRACE_S = 10.0


class ErrorKind(StrEnum):
    """The kinds of errors in an answer of the engine. Each kind is a reason why an operation has failed."""

    FAILED = "failed"
    NO_STACK = "no-stack"
    CANCELED = "canceled"
    BUSY = "busy"
    NOT_ACCEPTED = "not-accepted"
    INVALID_REQUEST = "invalid-request"
    PANIC = "panic"
    PROVIDER_ENDED = "provider-ended"


@dataclass(frozen=True)
class Answer:
    """The engine's answer to one request. If the operation succeeded, `error_kind` is None."""

    error_kind: ErrorKind | None = None
    error: str = ""
    diagnostics: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    # The number of the update in the stack's history. Only `up` and `refresh` have one.
    version: int | None = None
    has_pending_operations: bool = False
    # The state of the engine. Only the answer to a status request contains it.
    status: Mapping[str, Any] = field(default_factory=dict)


def request_line(operation: Operation) -> bytes:
    """The request for an operation, as one line of JSON."""
    settings = PROJECT_SETTINGS["config"]
    config = {key: json.dumps(setting["value"]) for key, setting in settings.items()}
    request: dict[str, Any] = {
        "operation": operation.name,
        "stack": operation.stack,
        "message": operation.message,
        "config": config | (record_config(operation.record) if operation.record else {}),
        "refresh": operation.refresh,
        "graceSeconds": GRACE_S,
        "program": _program(operation.desired) if operation.desired else {},
    }
    return json.dumps(request, separators=(",", ":")).encode() + b"\n"


def answer_from_line(line: bytes | bytearray) -> Answer:
    """Parse the engine's answer. Raises ValueError if the line is not an answer."""
    values = json.loads(line)
    kind = values.get("errorKind")
    return Answer(
        error_kind=ErrorKind(kind) if kind else None,
        error=values.get("error", ""),
        diagnostics=tuple(values.get("diagnostics", ())),
        counts=values.get("counts", {}),
        version=values.get("version"),
        has_pending_operations=values.get("hasPendingOperations", False),
        status=values.get("status", {}),
    )


def raise_for_error(answer: Answer) -> None:
    """Raise a StackError if the answer contains an error. Otherwise, do nothing."""
    match answer.error_kind:
        case None:
            return
        case ErrorKind.NO_STACK:
            raise StackNotFound(answer.error)
        case ErrorKind.CANCELED:
            raise StackTimeout("the operation was canceled")
        case ErrorKind.BUSY:
            raise StackBusy(answer.error)
        case ErrorKind.PANIC | ErrorKind.PROVIDER_ENDED:
            raise EngineCrashed(str(stack_error(answer.error, answer.diagnostics)))
        case _:
            raise stack_error(answer.error, answer.diagnostics)


def _program(desired: DesiredState) -> dict[str, Any]:
    return {
        "type": TENANT_TYPE,
        "name": desired.tenant,
        "outputs": {"namespaces": list(desired.namespaces)},
        "providerVersion": PROVIDER_VERSION,
        "resources": [
            {
                "type": registration.type,
                "name": registration.name,
                "inputs": registration.inputs,
                "dependsOn": registration.depends_on,
                "deletedWith": registration.deleted_with,
                "retainOnDelete": registration.retain_on_delete,
            }
            for registration in registrations(desired)
        ],
    }
