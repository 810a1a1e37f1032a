"""Reads AISessions and Events. If the user lacks a right, the error names the right."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from cli.rights.permissions import MissingRight
from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import AISESSION, EVENT
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import EVENT_NAMESPACE

SESSIONS: Final = f"{AISESSION.plural}.{AISESSION.group}"
_NOT_FOUND: Final = 404


class NoSuchSession(TenancyError):
    reason = "NoSuchSession"


@contextmanager
def needs_right(verb: str, resource: str, namespace: str = "") -> Iterator[None]:
    """Raise MissingRight if a request in the `with` block fails with the HTTP status 403 (Forbidden).

    The message names the right to use `verb` on `resource`. An empty namespace means all namespaces.
    """
    try:
        yield
    except ClusterError as error:
        if not error.is_forbidden:
            raise
        scope = f"in namespace {namespace}" if namespace else "in all namespaces"
        hint = "" if namespace else "; to read only one namespace, pass -n NAMESPACE"
        raise MissingRight(f"{error}; you need the right to {verb} {resource} {scope}{hint}") from None


def read_sessions(cluster: Cluster, namespace: str = "") -> list[Manifest]:
    """The AISessions in a namespace. If `namespace` is empty, the AISessions in all namespaces.

    Empty if the cluster does not serve AISessions. Raises MissingRight if the user cannot list them.
    """
    try:
        with needs_right("list", SESSIONS, namespace):
            return cluster.list(AISESSION, namespace=namespace)[0]
    except ClusterError as error:
        if error.status == _NOT_FOUND:
            return []
        raise


def read_session(cluster: Cluster, name: str, namespace: str) -> Manifest:
    """The AISession with this name.

    Raises NoSuchSession if it does not exist, and MissingRight if the user cannot read it.
    """
    with needs_right("get", SESSIONS, namespace):
        session = cluster.get(AISESSION, name, namespace)
    if session is None:
        raise NoSuchSession(
            f"there is no session {name!r} in namespace {namespace}; "
            "to list all sessions, run `tenancy sessions list`"
        )
    return session


def read_events(cluster: Cluster, involved: Manifest) -> list[dict[str, str]]:
    """The type, reason, message and time of each Event about an AISession or a Tenant, oldest first.

    Raises MissingRight if the user cannot list Events.
    """
    metadata = involved["metadata"]
    namespace, fields = metadata.get("namespace", EVENT_NAMESPACE), f"involvedObject.uid={metadata['uid']}"
    with needs_right("list", EVENT.plural, namespace):
        events = cluster.list(EVENT, namespace=namespace, fields=fields)[0]
    # Timestamps have a resolution of a second. The name of an Event of the watcher ends with the exact time.
    events.sort(key=lambda event: (str(event.get("lastTimestamp") or ""), str(event["metadata"]["name"])))
    keys = ("type", "reason", "message", "lastTimestamp")
    return [{key: str(event.get(key) or "") for key in keys} for event in events]
