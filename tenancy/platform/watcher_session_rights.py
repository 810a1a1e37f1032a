"""The watcher's rights over AISessions and what runs them, in every namespace. Part of its ClusterRole."""

from typing import Any, Final

from tenancy.base.kinds import AISESSION, EVENT, JOB, POD, Kind

_FOLLOW: Final = ("list", "watch")


def session_rules() -> list[dict[str, Any]]:
    return [
        _rule(AISESSION, "get", *_FOLLOW, "delete"),
        _rule(AISESSION, "patch", part="/status"),
        _rule(JOB, "get", *_FOLLOW, "create", "delete"),
        _rule(POD, *_FOLLOW),
        # Only an Event tells why a Job gets no pod.
        _rule(EVENT, "list"),
    ]


def _rule(kind: Kind, *verbs: str, part: str = "") -> dict[str, Any]:
    return {"apiGroups": [kind.group], "resources": [kind.plural + part], "verbs": list(verbs)}
