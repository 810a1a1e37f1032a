"""Watches Tenants and their ResourceQuotas for `tenancy list --watch`.

If a tenant changes, `watch_rows` yields the new row of this tenant.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from cli.rights.permissions import Right, is_allowed
from cli.wait import GONE
from cluster.client import Cluster
from cluster.informer import Informer
from cluster.live_objects import ManagedObjects, tenant_of
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import RESOURCE_QUOTA, TENANTS, Kind
from tenancy.base.labels import MANAGED_SELECTOR
from tenancy.base.manifest import Manifest
from watcher.view import TenantRow, tenant_row


class WatchForbidden(TenancyError):
    """The user cannot watch Tenants."""

    reason = "WatchForbidden"


_ALL_TENANTS: Final = tuple((kind, "") for kind in TENANTS)
# The old version of an object (None if it is new), and the new version (None if it was deleted).
_Event = tuple[Manifest | None, Manifest | None]


class RowId(NamedTuple):
    api_version: str
    name: str


def row_id(row: TenantRow) -> RowId:
    return RowId(row.api_version, row.name)


def print_until_interrupted(
    cluster: Cluster,
    rows: Sequence[TenantRow],
    is_shown: Callable[[TenantRow], bool],
    stream: tuple[Callable[[Sequence[TenantRow]], None], Callable[[TenantRow], object]],
    *,
    scopes: Sequence[tuple[Kind, str]] = (),
    selector: str = "",
) -> None:
    """Print the rows, and then each row that changes, until the user presses Ctrl-C.

    `stream` is a result of `row_stream`. For the other arguments, see `watch_rows`.
    """
    print_rows, content = stream
    with suppress(KeyboardInterrupt):
        print_rows(rows)
        for row in watch_rows(cluster, rows, is_shown, content, scopes=scopes, selector=selector):
            print_rows([row])


def watch_rows(
    cluster: Cluster,
    shown: Iterable[TenantRow],
    matches: Callable[[TenantRow], bool],
    content: Callable[[TenantRow], object],
    *,
    scopes: Sequence[tuple[Kind, str]] = (),
    selector: str = "",
) -> Iterator[TenantRow]:
    """Yield the row of each tenant that is new or changed. The iterator does not end.

    - `shown` contains the rows that are already printed.
    - `matches` says whether the user wants to see a row.
    - `content` returns the part of a row that the output contains. Changes to other parts are ignored.
    - `scopes` contains the kinds and names of the Tenants to watch. If it is empty, all Tenants are watched.
    - `selector` is a label selector. Tenants that do not match it are ignored.

    If a tenant is deleted or no longer matches, the function yields its last row with the phase Gone. If the
    connection is lost, the function connects again. Raises WatchForbidden if the user cannot watch Tenants.
    """
    rows = {row_id(row): row for row in shown}
    for changed in _changes(cluster, list(rows), scopes or _ALL_TENANTS, selector):
        for identity, row in changed:
            before = rows.get(identity)
            if row is not None and matches(row):
                rows[identity] = row
                if before is None or content(before) != content(row):
                    yield row
            elif before is not None:
                del rows[identity]
                yield before.model_copy(update={"phase": GONE, "reason": "", "message": ""})


def _changes(
    cluster: Cluster, known: list[RowId], scopes: Sequence[tuple[Kind, str]], selector: str
) -> Iterator[list[tuple[RowId, TenantRow | None]]]:
    """Yield the changed tenants in batches. Each item is the ID and the new row of a tenant.

    The row of a deleted tenant is None. The first batch contains all tenants. It also contains the tenants in
    `known` that no longer exist.
    """
    events: SimpleQueue[_Event] = SimpleQueue()
    informers = _informers(cluster, lambda *event: events.put(event), scopes, selector)
    state = _State()
    try:
        for informer in informers:
            informer.start()
        for informer in informers:
            informer.is_synced.wait()
        identities = dict.fromkeys((*known, *state.put(_available(events)), *state.tenants))
        while True:
            yield [(identity, state.row(identity)) for identity in identities]
            identities = dict.fromkeys(state.put([events.get(), *_available(events)]))
    finally:
        for informer in informers:
            informer.stop()


def _informers(
    cluster: Cluster, on_change: Callable[..., None], scopes: Sequence[tuple[Kind, str]], selector: str
) -> list[Informer]:
    # An informer repeats a forbidden request forever, so the rights are checked first.
    informers = [
        Informer(cluster, kind, on_change, selector, name=name)
        for kind, name in scopes
        if is_allowed(cluster, Right("watch", kind, name=name))
    ]
    if not informers:
        raise WatchForbidden(f"you cannot watch Tenants; you need the right to watch {TENANTS[0].crd}")
    # Without the right to read ResourceQuotas, the rows have no usage.
    if all(is_allowed(cluster, Right(verb, RESOURCE_QUOTA)) for verb in ("list", "watch")):
        informers.append(Informer(cluster, RESOURCE_QUOTA, on_change, MANAGED_SELECTOR))
    return informers


def _available(events: SimpleQueue[_Event]) -> Iterator[_Event]:
    try:
        while True:
            yield events.get_nowait()
    except Empty:
        return


class _State:
    """The newest version of each Tenant and its ResourceQuotas, according to the watch events so far."""

    def __init__(self) -> None:
        self.tenants: dict[RowId, Manifest] = {}
        self._quotas = ManagedObjects()

    def put(self, events: Iterable[_Event]) -> list[RowId]:
        """Record the events, and return the IDs of the tenants whose rows may have changed."""
        return [identity for before, after in events for identity in self._put(before, after)]

    def row(self, identity: RowId) -> TenantRow | None:
        tenant = self.tenants.get(identity)
        return None if tenant is None else tenant_row(tenant, self._quotas.of(identity.name))

    def _put(self, before: Manifest | None, after: Manifest | None) -> list[RowId]:
        manifest = after or before or {}
        if manifest["kind"] == RESOURCE_QUOTA.kind:
            self._quotas.put(before, after)
            return [identity for identity in self.tenants if identity.name == tenant_of(manifest)]
        identity = RowId(manifest["apiVersion"], manifest["metadata"]["name"])
        if after is None:
            self.tenants.pop(identity, None)
        else:
            self.tenants[identity] = after
        return [identity]
