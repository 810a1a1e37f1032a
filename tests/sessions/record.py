"""Every change of the Jobs and pods of sessions, in the order in which they were, however short it lasted."""

import threading
from collections import Counter, defaultdict

from cluster.client import Cluster, ClusterError
from tenancy.base.kinds import JOB, POD, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.names import SESSION_LABEL
from tenancy.sessions.phase import is_finished, is_pod_done


class Record(threading.Thread):
    """Of one kind. The API server leaves out nothing in one watch: what is not in here never was."""

    def __init__(self, cluster: Cluster, kind: Kind) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._kind = kind
        self._version = cluster.list(kind, SESSION_LABEL)[1]
        self._active: defaultdict[str, set[str]] = defaultdict(set)
        # By namespace, as sessions of other tests may still be ending: the most that were under way at once,
        # how many have ended, and the names of sessions as they began.
        self.peaks: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.begun: defaultdict[str, list[str]] = defaultdict(list)
        self.is_whole = True
        self.start()

    def run(self) -> None:
        try:
            for event, found in self._cluster.watch(self._kind, self._version, SESSION_LABEL):
                if event != "BOOKMARK":
                    self._note(event, found)
        except ClusterError:
            pass
        self.is_whole = False

    def _note(self, event: str, found: Manifest) -> None:
        metadata = found["metadata"]
        namespace, active = metadata["namespace"], self._active[metadata["namespace"]]
        if event == "ADDED":
            self.begun[namespace].append(metadata["labels"][SESSION_LABEL])
        if event == "DELETED" or _is_over(found):
            self.ended[namespace] += metadata["uid"] in active
            active.discard(metadata["uid"])
        else:
            active.add(metadata["uid"])
        self.peaks[namespace] = max(self.peaks[namespace], len(active))


def records(cluster: Cluster) -> tuple[Record, Record]:
    """Of the Jobs and of the pods, from now on."""
    return Record(cluster, JOB), Record(cluster, POD)


def _is_over(found: Manifest) -> bool:
    return is_finished(found) if found["kind"] == JOB.kind else is_pod_done(found)
