"""What a session says of its own outcome, from the termination message of its container.

Called when the session has ended. A message is JSON of the form of `status.results`, or plain text.
"""

import json
from typing import Any, Final

from tenancy.spec.aisession import SessionMetrics, SessionResults

OUTPUT_MAX_BYTES: Final = 4096
_TOKENS_MAX: Final = 2**63 - 1


def results_from_message(message: str) -> SessionResults | None:
    """None where it says nothing. A field of a wrong kind is left out: the rest still counts."""
    if not message.strip():
        return None
    found = _parsed(message)
    if not isinstance(found, dict) or not found.keys() & {"outputData", "metrics"}:
        return SessionResults(output_data=_cut(message))
    output = found.get("outputData")
    if output is not None and not isinstance(output, str):
        output = json.dumps(output, ensure_ascii=False)
    metrics = found.get("metrics")
    tokens = metrics.get("tokensUsed") if isinstance(metrics, dict) else None
    return SessionResults(
        output_data=_cut(output) if output else None,
        metrics=SessionMetrics(tokens_used=tokens) if _is_count(tokens) else None,
    )


def _parsed(message: str) -> Any:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _TOKENS_MAX


def _cut(text: str) -> str:
    """No more than the limit, and no half of a character at its end. What is no text at all is replaced."""
    return text.encode("utf-8", "replace")[:OUTPUT_MAX_BYTES].decode("utf-8", "ignore")
