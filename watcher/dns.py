"""Writes the configuration of CoreDNS to a ConfigMap when the tenants' namespaces change."""

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.informer import Informer
from cluster.live_objects import tenant_of
from tenancy.base.backoff import DNS
from tenancy.base.kinds import CONFIG_MAP
from tenancy.base.manifest import Manifest, is_deleting, object_key
from tenancy.platform.coredns import COREDNS_CONFIG_MAP, COREDNS_NAMESPACE, COREFILE_KEY, coredns_config_map
from watcher.service import Service

log = structlog.get_logger(__name__)

# All changes within this time are written together. A tenant's namespaces often change at the same time.
_GATHER_S: Final = 1.0


def namespace_groups(namespaces: Iterable[Manifest]) -> list[Collection[str]]:
    """Groups of namespace names. A pod can resolve the names of services in all namespaces of its group.

    The namespaces of a tenant form a group. A namespace without a tenant label is alone in its group. A
    terminating namespace is also alone in its group, because another tenant may create a namespace with the
    same name after the deletion.

    Each namespace needs a group. A namespace without a group can count as a platform namespace, and pods in
    platform namespaces can resolve all services.
    """
    groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for namespace in namespaces:
        name, tenant = namespace["metadata"]["name"], tenant_of(namespace)
        is_alone = is_deleting(namespace) or not tenant
        groups[tenant, name if is_alone else ""].append(name)
    return list(groups.values())


class DnsConfig(Service):
    """Writes the ConfigMap with the configuration of CoreDNS. Retries after errors."""

    def __init__(self, cluster: Cluster, namespaces: Informer) -> None:
        """`namespaces` is the informer of all managed namespaces.

        The caller must call `wake` each time one of these namespaces changes.
        """
        super().__init__("write DNS config")
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

    @property
    def threads(self) -> Sequence[threading.Thread]:
        return [*super().threads, self.informer]

    def start(self) -> None:
        """Start the threads. Call `start` only after the informer `namespaces` is synced.

        A namespace that is not listed yet can count as a platform namespace, and pods in platform namespaces
        can resolve all services.
        """
        self.wake()
        self.informer.start()
        super().start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        super().stop()
        self.informer.stop()
        self.wake()

    def _run(self) -> None:
        # Wait for the live ConfigMap, so that an unchanged configuration is not written at each start.
        self.informer.is_synced.wait()
        failures, pause_s = 0, _GATHER_S
        while self._woken.wait() and not self._stopping.wait(pause_s):
            self._woken.clear()
            try:
                self._write()
            except ClusterError as error:
                pause_s = DNS.wait_s(failures)
                failures += 1
                log.warning("DNS config not written", problem=str(error), retry_after_s=pause_s)
                self.wake()
            else:
                failures, pause_s = 0, _GATHER_S

    def _write(self) -> None:
        namespaces = [self._namespaces.get(key) for key in self._namespaces.object_keys()]
        desired = coredns_config_map(namespace_groups(filter(None, namespaces)))
        live = self.informer.get(object_key(desired)) or {}
        if (live.get("data") or {}).get(COREFILE_KEY) != desired["data"][COREFILE_KEY]:
            self._cluster.apply(desired)
            log.info("DNS config written", config_map=f"{COREDNS_NAMESPACE}/{COREDNS_CONFIG_MAP}")
