"""Keeps the ConfigMap with CoreDNS's configuration as the tenants' namespaces are now.

The watcher starts it once it has listed the namespaces, for what is left out of a list may pass for the
platform's. It works on a thread of its own: what goes wrong here is tried again, and holds no tenant up.
"""

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Final

import structlog

from cluster.client import Cluster, ClusterError
from cluster.informer import Informer
from cluster.live_objects import is_ending, tenant_of
from tenancy.base.kinds import CONFIG_MAP
from tenancy.base.manifest import Manifest, object_key
from tenancy.platform.coredns import COREDNS_CONFIG_MAP, COREDNS_NAMESPACE, COREFILE_KEY, coredns_config_map

log = structlog.get_logger(__name__)

# Once for all changes until then: a tenant's namespaces come together.
_GATHER_S: Final = 1.0
# The wait after a failure doubles up to this.
_LAST_RETRY_S: Final = 15.0


def families(namespaces: Iterable[Manifest]) -> list[Collection[str]]:
    """The namespaces that see each other. One that is ending, or names no tenant, stays alone: its name may
    be another tenant's next, but until it is gone it is not the platform's."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for namespace in namespaces:
        name, tenant = namespace["metadata"]["name"], tenant_of(namespace)
        is_alone = is_ending(namespace) or not tenant
        found[tenant, name if is_alone else ""].append(name)
    return list(found.values())


class DnsConfig:
    def __init__(self, cluster: Cluster, namespaces: Informer) -> None:
        """`namespaces` knows all that are managed. Who owns it calls `wake` when they change."""
        self.thread = threading.Thread(target=self._keep, name="keep DNS config", daemon=True)
        self.informer = Informer(
            cluster,
            CONFIG_MAP,
            lambda _before, _after: self.wake(),
            namespace=COREDNS_NAMESPACE,
            name=COREDNS_CONFIG_MAP,
        )
        self._cluster = cluster
        self._namespaces = namespaces
        self._woken = threading.Event()
        self._stopping = threading.Event()

    def start(self) -> None:
        self.wake()
        self.informer.start()
        self.thread.start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        self._stopping.set()
        self.informer.stop()
        self.wake()

    def _keep(self) -> None:
        # Else it would be written once more at each start.
        self.informer.is_synced.wait()
        pause_s = _GATHER_S
        while self._woken.wait() and not self._stopping.wait(pause_s):
            self._woken.clear()
            try:
                self._write()
            except ClusterError as error:
                pause_s = min(2 * pause_s, _LAST_RETRY_S)
                log.warning("DNS config not written", problem=str(error), retry_after_s=pause_s)
                self.wake()
            else:
                pause_s = _GATHER_S

    def _write(self) -> None:
        known = [self._namespaces.get(key) for key in self._namespaces.object_keys()]
        wanted = coredns_config_map(families(filter(None, known)))
        live = self.informer.get(object_key(wanted)) or {}
        if (live.get("data") or {}).get(COREFILE_KEY) != wanted["data"][COREFILE_KEY]:
            self._cluster.apply(wanted)
            log.info("DNS config written", config_map=f"{COREDNS_NAMESPACE}/{COREDNS_CONFIG_MAP}")
