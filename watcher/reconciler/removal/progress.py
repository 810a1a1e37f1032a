"""Describes the progress of a tenant's deletion. No I/O."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from tenancy.base.manifest import Manifest

# The maximum number of AISessions that a message lists.
_NAMED: Final = 5


def few(names: list[str]) -> str:
    """The first five names, and the number of the other names, e.g. `a, b, c, d, e and 3 more`."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def namespaces_text(namespaces: Iterable[Manifest]) -> str:
    """The names of terminating namespaces, and the reasons why Kubernetes has not deleted them yet.

    The reasons are the messages of the namespaces' conditions. These messages contain the kinds of the
    objects that still exist, and the finalizers of these objects.
    """
    return "; ".join(map(_namespace_text, namespaces))


def longest_wait_s(namespaces: Iterable[Manifest]) -> float:
    """How long Kubernetes has been deleting a blocked namespace, in seconds. 0 if no namespace is blocked.

    If several namespaces are blocked, the result is the longest time. A namespace is blocked if its
    conditions contain a reason why Kubernetes has not deleted it yet.
    """
    times = [
        namespace["metadata"].get("deletionTimestamp") for namespace in namespaces if _reasons(namespace)
    ]
    begun = [datetime.fromisoformat(time) for time in times if time]
    return (datetime.now(UTC) - min(begun)).total_seconds() if begun else 0.0


def _namespace_text(namespace: Manifest) -> str:
    name: str = namespace["metadata"]["name"]
    return f"{name} ({' '.join(reasons)})" if (reasons := _reasons(namespace)) else name


def _reasons(namespace: Manifest) -> list[str]:
    conditions = (namespace.get("status") or {}).get("conditions") or []
    return [condition["message"] for condition in conditions if condition["status"] == "True"]
