"""The watchers that lead, or have led, as the platform's Lease records them.

At any time, at most one watcher leads. Only the leader changes tenants and their stacks. A lock of a Pulumi
stack names a host and a time. The records show which leader took the lock, and whether it still leads.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from pydantic import TypeAdapter

from tenancy.base.manifest import Manifest
from tenancy.base.model import StoredModel
from tenancy.base.platform_names import LEADERS_ANNOTATION

# The number of leaders that the Lease records.
_MAX_RECORDS: Final = 20
# The time of a lock has a resolution of one second.
_RESOLUTION: Final = timedelta(seconds=1)


class Leader(StoredModel):
    """A watcher process that leads or has led."""

    # The holder in the Lease: the host name and a random ID.
    id: str
    host: str
    pid: int
    # The time at which the process started, in the unit of the operating system. Empty if it is unknown.
    process_start: str = ""
    # Identifies the running machine and the PID namespace of the process. Empty if it is unknown.
    machine: str = ""
    # When the process became the leader, by the clock of its host.
    since: datetime


_RECORDS: Final = TypeAdapter(tuple[Leader, ...])


@dataclass(frozen=True)
class Leadership:
    """The ID of the current leader (empty if there is none), and the recorded leaders, newest first."""

    current: str = ""
    records: tuple[Leader, ...] = ()

    @property
    def leader(self) -> Leader | None:
        """The record of the current leader."""
        return next((record for record in self.records if record.id == self.current), None)

    def holder(self, host: str, since: datetime) -> Leader | None:
        """The leader that has taken a lock on this host at this time. None if no leader has taken the lock.

        All commands on the host of a leader count as commands of this leader.
        """
        records = (record for record in self.records if record.host == host)
        return next((record for record in records if record.since <= since + _RESOLUTION), None)


def leadership_of(lease: Manifest | None) -> Leadership:
    """The leaders in a Lease. If the annotation with the records is invalid, the result has no records."""
    if lease is None:
        return Leadership()
    text = (lease["metadata"].get("annotations") or {}).get(LEADERS_ANNOTATION)
    try:
        records = _RECORDS.validate_json(text or "[]")
    except ValueError:
        records = ()
    return Leadership((lease.get("spec") or {}).get("holderIdentity") or "", records)


def leaders_annotation(leader: Leader, earlier: Sequence[Leader]) -> str:
    """The value of the annotation that records a new leader and the earlier ones."""
    records = [leader, *(record for record in earlier if record.id != leader.id)][:_MAX_RECORDS]
    return json.dumps([record.model_dump(by_alias=True, mode="json") for record in records])
