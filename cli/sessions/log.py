"""Reads the log of an AISession from its pod, and writes it to standard output."""

import codecs
import sys
from collections.abc import Iterable, Iterator

from rich.text import Text

from cli.output import console
from cli.sessions.read import needs_right
from cli.sessions.text import cause
from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import POD
from tenancy.base.labels import SESSION_LABEL, label_value
from tenancy.base.manifest import Manifest
from tenancy.sessions.job import CONTAINER, JOB_TTL_S, controller_job, first_created
from tenancy.sessions.row import SessionRow
from tenancy.spec.aisession import duration_text


class NoLog(TenancyError):
    reason = "NoLog"


def read_log(cluster: Cluster, row: SessionRow, *, is_followed: bool) -> Iterator[bytes]:
    """Yield the log of the session in chunks. If `is_followed` is true, continue until the session ends.

    Raises NoLog if there is no log, or if the log cannot be read. Raises MissingRight if the user lacks the
    right to read the pod or the log.
    """
    pod = _pod(cluster, row)
    # For a pod without a node, the API server answers with an empty log.
    if pod is None or not pod["spec"].get("nodeName"):
        raise NoLog(_no_log_message(row))
    try:
        with needs_right("get", "pods/log", row.namespace):
            yield from cluster.log(pod["metadata"]["name"], row.namespace, CONTAINER, is_followed=is_followed)
    except ClusterError as error:
        raise NoLog(f"cannot read the log of session {row.name}: {error}") from None


def write_log(chunks: Iterable[bytes]) -> None:
    """Write the log to standard output. On a terminal, control characters are escaped."""
    if not console.is_terminal:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        return
    decoder, rest = codecs.getincrementaldecoder("utf-8")("replace"), ""
    for chunk in chunks:
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        for line in lines:
            console.print(Text(line.rstrip("\r")))
    if rest:
        console.print(Text(rest))


def _pod(cluster: Cluster, row: SessionRow) -> Manifest | None:
    """The first pod that the session's Job has created. None if there is no such pod."""
    with needs_right("list", POD.plural, row.namespace):
        selector = f"{SESSION_LABEL}={label_value(row.name)}"
        pods = cluster.list(POD, selector, namespace=row.namespace)[0]
    return first_created([pod for pod in pods if controller_job(pod)])


def _no_log_message(row: SessionRow) -> str:
    if row.is_active:
        state = cause(row) or row.phase.value
        return f"session {row.name} has no log yet, because its pod does not run: {state}"
    kept = duration_text(JOB_TTL_S)
    return (
        f"the log of session {row.name} no longer exists: Kubernetes deletes it {kept} after the session has "
        "ended, or when the Job or the pod is deleted"
    )
