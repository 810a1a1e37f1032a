"""Elects the leader among the watchers of a cluster, with a Lease. Only the leader changes anything.

The leader renews the Lease. If it cannot renew the Lease for `renew_s`, it ends its operations and exits.
Another watcher takes the Lease `duration_s` after it has seen the last renewal, and never before. Each
process measures these times with its own clock, so the clocks of two hosts may differ.

A watcher takes the Lease at once if the last leader has released it, or if the last leader ran on the same
machine and has provably ended.
"""

import math
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NoReturn

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from stacks.ownership.processes import has_ended, this_process
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import BACKEND_ANNOTATION, LEADERS_ANNOTATION
from tenancy.cluster_binding import Backend, backend_annotation, backend_of, other_backend_problem
from tenancy.leaders import Leadership, leaders_annotation, leadership_of
from watcher.leadership.lease import now_text, read_lease, write_lease
from watcher.lease_options import LeaseTimes

log = structlog.get_logger(__name__)

_CONFLICT: Final = 409
_NOT_FOUND: Final = 404
# `time.monotonic` stops while the machine is suspended, but the Lease expires meanwhile.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_MIN_PAUSE_S: Final = 0.01


class Election:
    """Takes, renews and releases the Lease. Any thread may read the properties."""

    def __init__(self, cluster: Cluster, times: LeaseTimes) -> None:
        self.id = f"{socket.gethostname()}_{uuid.uuid4()}"
        # Set after the first attempt to take the Lease.
        self.is_decided = threading.Event()
        self.is_leading = threading.Event()
        # A request that hangs must not use up the time in which the Lease can be renewed.
        self._cluster = cluster.with_timeout(times.renew_s / 2)
        self._backend = Backend()
        self._times = times
        self._on_lost: Callable[[float], NoReturn]
        self._stopping = threading.Event()
        # Only one thread at a time reads and writes the Lease.
        self._guard = threading.Lock()
        self._loss_guard = threading.Lock()
        # The Lease as this process has last read or written it, and when its spec has last changed.
        self._lease: Manifest | None = None
        self._is_deleted = False
        self._changed_at_s = 0.0
        # The time before the last renewal.
        self._renewed_at_s = 0.0
        self._problem = ""
        self.threads = [
            threading.Thread(target=self._run, name="lease", daemon=True),
            threading.Thread(target=self._watch_deadline, name="lease deadline", daemon=True),
        ]

    @property
    def leadership(self) -> Leadership:
        """The leaders until now, as far as this process knows."""
        return leadership_of(self._lease)

    def state(self) -> dict[str, Any]:
        """The data of the web page: the leader, and whether this process leads."""
        return {"leader": self.leadership.current, "isLeader": self.is_leading.is_set()}

    def not_ready(self) -> list[str]:
        """One message if no watcher leads. Empty if this process or another one leads."""
        return [] if self.leadership.current else [f"no watcher leads: {self._problem or 'not elected yet'}"]

    def notes(self) -> list[str]:
        """One message if another watcher leads. Otherwise empty."""
        leader = self.leadership.current
        if self.is_leading.is_set() or not leader:
            return []
        reason = f". This watcher cannot take over: {self._problem}" if self._problem else ""
        return [f"standby: {leader} leads{reason}"]

    def start(self, backend: Backend, on_lost: Callable[[float], NoReturn]) -> None:
        """Start the election. `backend` is the state backend of this process.

        If the Lease is lost, `on_lost` ends this process. Its argument is the time in seconds until then.
        """
        self._backend, self._on_lost = backend, on_lost
        for thread in self.threads:
            thread.start()

    def record_backend(self, backend: Backend) -> None:
        """Record the backend in the Lease. Call this only while this process leads. Raises ClusterError."""
        with self._guard:
            self._backend = backend
            self._renew({BACKEND_ANNOTATION: backend_annotation(backend)})

    def stop(self, *, is_idle: bool) -> None:
        """Stop renewing the Lease. If all operations of this process have ended (`is_idle`), release it."""
        self._stopping.set()
        with self._guard:
            if not self.is_leading.is_set():
                return
            self.is_leading.clear()
            if not is_idle:
                log.warning("lease not released", problem="some operations have not ended")
                return
            spec = {"holderIdentity": "", "renewTime": now_text(), "leaseDurationSeconds": 1}
            try:
                self._lease = write_lease(self._cluster, self._lease, spec)
            except ClusterError as error:
                log.warning("lease not released", problem=str(error))
            else:
                log.info("lease released", holder=self.id)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._guard:
                    self._attempt()
            except ClusterError as error:
                self._problem = str(error)
                log.warning("lease request failed", problem=str(error))
            self.is_decided.set()
            self._stopping.wait(self._pause_s())

    def _attempt(self) -> None:
        if self._stopping.is_set():
            return
        if self.is_leading.is_set():
            self._renew()
            return
        self._read()
        if self._is_free() and self._may_lead():
            self._take()

    def _read(self) -> None:
        lease = read_lease(self._cluster)
        self._is_deleted = lease is None
        # If somebody deletes the Lease, its holder still leads until it notices this.
        if lease is None and self.leadership.current:
            return
        if _spec(lease) != _spec(self._lease):
            self._changed_at_s = _now_s()
        self._lease = lease

    def _is_free(self) -> bool:
        leadership = self.leadership
        if leadership.current in ("", self.id) or self._expires_in_s() <= 0:
            return True
        leader = leadership.leader
        return leader is not None and has_ended(leader)

    def _may_lead(self) -> bool:
        """Whether this process uses the state backend of the earlier leaders."""
        recorded = backend_of(self._lease)
        if recorded is None or recorded.is_same(self._backend):
            self._problem = ""
            return True
        problem = other_backend_problem(recorded, self._backend)
        if problem != self._problem:
            log.warning("lease not taken", problem=problem)
        self._problem = problem
        return False

    def _take(self) -> None:
        started_s, before = _now_s(), self.leadership
        record = this_process(self.id, datetime.now(UTC))
        spec = {
            "holderIdentity": self.id,
            "leaseDurationSeconds": math.ceil(self._times.duration_s),
            "acquireTime": now_text(),
            "renewTime": now_text(),
            "leaseTransitions": (_spec(self._lease).get("leaseTransitions") or 0) + 1,
        }
        annotations = {LEADERS_ANNOTATION: leaders_annotation(record, before.records)}
        lease = None if self._is_deleted else self._lease
        try:
            self._lease = write_lease(self._cluster, lease, spec, annotations)
        except ClusterError as error:
            if error.status != _CONFLICT:
                raise
            return  # Another process was faster. The next attempt reads its name.
        self._renewed_at_s = started_s
        log.info("leading", holder=self.id, before=before.current)
        self.is_leading.set()

    def _renew(self, annotations: Mapping[str, str] | None = None) -> None:
        started_s, change = _now_s(), {"renewTime": now_text()}
        try:
            lease = write_lease(self._cluster, self._lease, change, annotations)
        except ClusterError as error:
            if error.status not in (_CONFLICT, _NOT_FOUND):
                raise
            lease = self._renew_changed(change, annotations)
        self._lease, self._renewed_at_s, self._problem = lease, started_s, ""

    def _renew_changed(self, change: Manifest, annotations: Mapping[str, str] | None) -> Manifest:
        """Renew the Lease after somebody else has changed or deleted it."""
        live = read_lease(self._cluster)
        if live is None:
            known = (self._lease or {"metadata": {}})["metadata"].get("annotations") or {}
            return write_lease(
                self._cluster, None, {**_spec(self._lease), **change}, {**known, **(annotations or {})}
            )
        if (holder := leadership_of(live).current) != self.id:
            self._lose(f"the holder of the Lease is now {holder!r}")
        return write_lease(self._cluster, live, change, annotations)

    def _watch_deadline(self) -> None:
        """Stop leading if the Lease is not renewed in time. A request that hangs cannot block this thread."""
        self.is_leading.wait()
        while self.is_leading.is_set() and not self._stopping.is_set():
            left_s = self._renewed_at_s + self._times.renew_s - _now_s()
            if left_s <= 0:
                self._lose(f"not renewed for {self._times.renew_s:g} s: {self._problem or 'no answer'}")
            self._stopping.wait(max(left_s, _MIN_PAUSE_S))

    def _lose(self, reason: str) -> NoReturn:
        with self._loss_guard:
            log.error("lease lost", holder=self.id, reason=reason)
            self._on_lost(self._times.grace_s)

    def _pause_s(self) -> float:
        """The time until the next attempt. A standby does not wait longer than until the Lease expires."""
        if self.is_leading.is_set() or self._problem:
            return self._times.retry_s
        return max(_MIN_PAUSE_S, min(self._times.retry_s, self._expires_in_s()))

    def _expires_in_s(self) -> float:
        duration_s: float = _spec(self._lease).get("leaseDurationSeconds") or 0
        return self._changed_at_s + duration_s - _now_s()


def _spec(lease: Manifest | None) -> dict[str, Any]:
    return (lease or {}).get("spec") or {}


def _now_s() -> float:
    return time.clock_gettime(_CLOCK)
