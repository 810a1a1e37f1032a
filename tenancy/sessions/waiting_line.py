"""Which of a tenant's waiting sessions start now, and what the others wait for.

Called by the watcher at each change. The oldest go first. One that lacks room holds up the younger ones of
its namespace, or a large session would never get its turn; those of other namespaces pass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.sessions.capacity import Ask, shortage, sum_of
from tenancy.spec.aisession import SessionReason


@dataclass(frozen=True)
class Candidate:
    """A session that could start."""

    key: ObjectKey
    created: str
    ask: Ask

    @property
    def age_order(self) -> tuple[str, str, str]:
        # Creation times have whole seconds: within one, names decide.
        return self.created, self.key.name, self.key.namespace


@dataclass(frozen=True)
class Wait:
    reason: SessionReason
    message: str


@dataclass
class Decision:
    starts: list[Candidate] = field(default_factory=list)
    waits: dict[ObjectKey, Wait] = field(default_factory=dict)


def decision(
    waiting: Sequence[Candidate],
    free: int,
    limit: int,
    quotas: Mapping[str, Sequence[Manifest]],
    promised: Mapping[str, Ask],
) -> Decision:
    """`free` is how many more of at most `limit` may run; quotas and what is promised of them go by
    namespace."""
    made = Decision()
    promises = dict(promised)
    closed: set[str] = set()
    for candidate in sorted(waiting, key=lambda found: found.age_order):
        namespace = candidate.key.namespace
        promise = promises.get(namespace, {})
        lack = shortage(quotas.get(namespace, ()), candidate.ask, promise)
        is_hopeless = lack is not None and lack.is_hopeless
        # One that can never start does not wait for its turn: its user has to do something.
        if not is_hopeless and (len(made.starts) >= free or namespace in closed):
            made.waits[candidate.key] = _behind_others(limit)
        elif lack is not None:
            made.waits[candidate.key] = Wait(SessionReason.QUOTA_EXCEEDED, lack.message)
            if not is_hopeless:
                closed.add(namespace)
        else:
            made.starts.append(candidate)
            promises[namespace] = sum_of((promise, candidate.ask))
    return made


def _behind_others(limit: int) -> Wait:
    """In the same words for all that holds them up: a thousand in a queue are not to be written anew whenever
    its head moves from one wait to the other."""
    if limit == 0:
        told = "the tenant may run no sessions: maxSessions is 0"
    else:
        told = f"older ones go first: the tenant may run {limit} at once (maxSessions), within its quotas"
    return Wait(SessionReason.QUEUED, told)
