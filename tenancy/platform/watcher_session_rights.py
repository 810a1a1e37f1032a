"""The watcher's rights on AISessions and on their Jobs, pods and Events, in every namespace."""

from typing import Any, Final

from tenancy.base.kinds import AISESSION, EVENT, JOB, POD, Kind

_FOLLOW: Final = ("list", "watch")


def session_rules() -> list[dict[str, Any]]:
    return [
        _rule(AISESSION, "get", *_FOLLOW, "delete"),
        _rule(AISESSION, "patch", subresource="/status"),
        _rule(JOB, "get", *_FOLLOW, "create", "delete"),
        _rule(POD, *_FOLLOW),
        # The watcher lists Events, because only Events report why a Job cannot create its pod. It creates
        # Events about sessions in the namespaces of tenants, and Events about Tenants and plans in other
        # namespaces.
        _rule(EVENT, "list", "create"),
    ]


def _rule(kind: Kind, *verbs: str, subresource: str = "") -> dict[str, Any]:
    return {"apiGroups": [kind.group], "resources": [kind.plural + subresource], "verbs": list(verbs)}
