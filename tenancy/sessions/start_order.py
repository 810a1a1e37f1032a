"""Decides which of a tenant's waiting sessions start now, and why the other sessions wait.

The oldest sessions start first. If a session must wait for a quota, newer sessions in the same namespace wait
too. Otherwise, small new sessions could use the quota, and a large session might never start. Sessions in
other namespaces do not have to wait.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.sessions.capacity import Demand, shortage, total_demand
from tenancy.spec.aisession import SessionReason


@dataclass(frozen=True)
class Candidate:
    """A session that waits for its start."""

    key: ObjectKey
    created: str
    demand: Demand

    @property
    def sort_key(self) -> tuple[str, str, str]:
        # Creation timestamps have a resolution of one second. Sessions with the same timestamp are sorted by
        # name.
        return self.created, self.key.name, self.key.namespace


@dataclass(frozen=True)
class StartDelay:
    reason: SessionReason
    message: str


@dataclass
class StartDecision:
    starts: list[Candidate] = field(default_factory=list)
    waits: dict[ObjectKey, StartDelay] = field(default_factory=dict)


def decision(
    waiting: Sequence[Candidate],
    free_slots: int,
    max_sessions: int,
    quotas: Mapping[str, Sequence[Manifest]],
    reserved: Mapping[str, Demand],
) -> StartDecision:
    """The sessions to start, and the reasons why the other sessions wait.

    - `free_slots` is the number of sessions that can start now.
    - `max_sessions` is the number of sessions that the tenant can run at the same time.
    - `quotas` contains the ResourceQuotas of each namespace. Kubernetes updates the status of a quota with a
      delay.
    - `reserved` contains the demand of sessions that have started, but are not included in the status of the
      quotas yet. The keys are namespaces.
    """
    result = StartDecision()
    reserved_by_namespace = dict(reserved)
    blocked_namespaces: set[str] = set()
    for candidate in sorted(waiting, key=lambda candidate: candidate.sort_key):
        namespace = candidate.key.namespace
        namespace_reserved = reserved_by_namespace.get(namespace, {})
        lack = shortage(quotas.get(namespace, ()), candidate.demand, namespace_reserved)
        can_never_fit = lack is not None and lack.can_never_fit
        # A session that can never fit into a quota does not wait for older sessions. Its status reports the
        # quota, so that the user can fix the session.
        if not can_never_fit and (len(result.starts) >= free_slots or namespace in blocked_namespaces):
            result.waits[candidate.key] = _queued(max_sessions)
        elif lack is not None:
            result.waits[candidate.key] = StartDelay(SessionReason.QUOTA_EXCEEDED, lack.message)
            if not can_never_fit:
                blocked_namespaces.add(namespace)
        else:
            result.starts.append(candidate)
            reserved_by_namespace[namespace] = total_demand((namespace_reserved, candidate.demand))
    return result


def _queued(max_sessions: int) -> StartDelay:
    """The reason and the message of a session that waits for other sessions.

    The message lists all possible causes. A message with only the current cause would change often, and the
    watcher would have to write the status of every queued session after each change.
    """
    if max_sessions == 0:
        message = "the tenant may run no sessions: maxSessions is 0"
    else:
        message = (
            f"the session waits for other sessions: the tenant may run at most {max_sessions} at once "
            "(maxSessions), all of them must fit into its quotas, and older sessions start first"
        )
    return StartDelay(SessionReason.QUEUED, message)
