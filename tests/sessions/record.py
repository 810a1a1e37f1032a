"""Records all changes of the Jobs and pods of sessions, in order."""

import threading
from collections import Counter, defaultdict

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import JOB, POD, Kind
from tenancy.base.labels import SESSION_LABEL
from tenancy.base.manifest import Manifest
from tenancy.sessions.phase import is_finished, is_pod_done


class Record(threading.Thread):
    """Records all changes of one kind with a single watch, so that no change is missing."""

    def __init__(self, cluster: Cluster, kind: Kind) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._kind = kind
        self._version = cluster.list(kind, SESSION_LABEL)[1]
        self._active: defaultdict[str, set[str]] = defaultdict(set)
        # Keyed by namespace, because sessions of other tests may still be ending in other namespaces. The
        # values are the highest number of active objects, the number of finished objects, and the names of
        # the sessions in start order.
        self.peaks: Counter[str] = Counter()
        self.finished_counts: Counter[str] = Counter()
        self.started: defaultdict[str, list[str]] = defaultdict(list)
        self.is_complete = True
        self.start()

    def run(self) -> None:
        try:
            for event, manifest in self._cluster.watch(self._kind, self._version, SESSION_LABEL):
                if event != "BOOKMARK":
                    self._add(event, manifest)
        except ClusterError:
            pass
        self.is_complete = False

    def _add(self, event: str, manifest: Manifest) -> None:
        metadata = manifest["metadata"]
        namespace, active = metadata["namespace"], self._active[metadata["namespace"]]
        if event == "ADDED":
            self.started[namespace].append(metadata["labels"][SESSION_LABEL])
        if event == "DELETED" or _is_finished(manifest):
            self.finished_counts[namespace] += metadata["uid"] in active
            active.discard(metadata["uid"])
        else:
            active.add(metadata["uid"])
        self.peaks[namespace] = max(self.peaks[namespace], len(active))


def records(cluster: Cluster) -> tuple[Record, Record]:
    """Start a record of the Jobs and a record of the pods."""
    return Record(cluster, JOB), Record(cluster, POD)


def _is_finished(manifest: Manifest) -> bool:
    return is_finished(manifest) if manifest["kind"] == JOB.kind else is_pod_done(manifest)
