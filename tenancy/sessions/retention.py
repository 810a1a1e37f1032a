"""Decides which ended sessions are deleted. No I/O.

A session is deleted with its result `keepDays` days after its end. It is deleted earlier if the namespace has
nearly reached its limit of AISessions. Otherwise, the API server would reject new sessions until the oldest
sessions expire.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from tenancy.base.manifest import Manifest

# One fifth of the limit is kept free for new sessions. With a limit of less than 5, nothing is kept free, so
# that the result of a session can be read.
_FREE_SHARE: Final = 5
# Every ended session is kept for at least this time. Kubernetes also keeps the log of a session for one hour.
_MIN_KEEP: Final = timedelta(hours=1)


class Surplus(NamedTuple):
    """An ended session that must be deleted to make space, and the reason as a text."""

    session: Manifest
    reason: str


class Retention(NamedTuple):
    """The sessions that must be deleted now.

    `next_s` are the seconds until the next session must be deleted. It is None if no session will be deleted.
    """

    expired: list[Manifest]
    surplus: list[Surplus]
    next_s: float | None


def retention(
    ended: Iterable[Manifest],
    unfinished: Iterable[Manifest],
    limits: Mapping[str, int],
    keep_days: int | None,
    now: datetime,
) -> Retention:
    """Decide which of the sessions in `ended` must be deleted.

    `unfinished` are the tenant's other sessions. `limits` contains the maximum number of AISessions of each
    namespace. If `keep_days` is None, no session is deleted.
    """
    if keep_days is None:
        return Retention([], [], None)
    keep_time, due_s = timedelta(days=keep_days), []
    expired: list[Manifest] = []
    kept: defaultdict[str, list[Manifest]] = defaultdict(list)
    for session in sorted(ended, key=lambda each: _ended_at(each, now)):
        left_s = (_ended_at(session, now) + keep_time - now).total_seconds()
        if left_s > 0:
            due_s.append(left_s)
            kept[session["metadata"]["namespace"]].append(session)
        else:
            expired.append(session)
    counts = Counter(session["metadata"]["namespace"] for session in unfinished)
    surplus: list[Surplus] = []
    for namespace, sessions in kept.items():
        if namespace not in limits:
            continue
        limit, count = limits[namespace], counts[namespace] + len(sessions)
        reason = f"namespace {namespace} has {count} of at most {limit} AISessions"
        for session in sessions[: max(0, count - (limit - limit // _FREE_SHARE))]:
            left_s = (_ended_at(session, now) + _MIN_KEEP - now).total_seconds()
            if left_s > 0:
                due_s.append(left_s)
            else:
                surplus.append(Surplus(session, reason))
    return Retention(expired, surplus, min(due_s, default=None))


def _ended_at(session: Manifest, now: datetime) -> datetime:
    """The completion time of a session. If it is missing or in the future, returns the creation time.

    The completion time comes from the Job's status, so a user may have forged it. If it were in the year
    9999, adding `keep_days` would raise OverflowError.
    """
    created: str = session["metadata"]["creationTimestamp"]
    ended = datetime.fromisoformat(session["status"].get("completionTime") or created)
    return ended if ended <= now else datetime.fromisoformat(created)
