"""Reads the results of a session from the termination message of its container.

The message is JSON in the format of `status.results`, or plain text.
"""

import json
from typing import Any, Final

from tenancy.spec.aisession import SessionMetrics, SessionResults

OUTPUT_MAX_BYTES: Final = 4096
_TOKENS_MAX: Final = 2**63 - 1


def results_from_message(message: str) -> SessionResults | None:
    """The results in a termination message. None if the message is empty.

    JSON fields of a wrong type are ignored.
    """
    if not message.strip():
        return None
    parsed = _parsed_json(message)
    if not isinstance(parsed, dict) or not parsed.keys() & {"outputData", "metrics"}:
        return SessionResults(output_data=_truncated(message))
    output = parsed.get("outputData")
    if output is not None and not isinstance(output, str):
        output = json.dumps(output, ensure_ascii=False)
    metrics = parsed.get("metrics")
    tokens = metrics.get("tokensUsed") if isinstance(metrics, dict) else None
    return SessionResults(
        output_data=_truncated(output) if output else None,
        metrics=SessionMetrics(tokens_used=tokens) if _is_count(tokens) else None,
    )


def _parsed_json(message: str) -> Any:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _TOKENS_MAX


def _truncated(text: str) -> str:
    """The text, truncated to at most OUTPUT_MAX_BYTES in UTF-8.

    No character is cut in half. Characters that UTF-8 cannot encode are replaced.
    """
    return text.encode("utf-8", "replace")[:OUTPUT_MAX_BYTES].decode("utf-8", "ignore")
