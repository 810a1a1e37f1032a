"""Writes the CoreDNS configuration, which keeps pods from resolving the services of other tenants.

The watcher stores the configuration in a ConfigMap. It writes the ConfigMap again when a tenant gets or loses
a namespace, and when somebody else changes the ConfigMap.
"""

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
from tenancy.base.platform_names import COREDNS_CONFIG_MAP, COREDNS_NAMESPACE
from tenancy.platform.coredns import COREFILE_KEY, coredns_config_map, unlisted_groups
from watcher.service import Service

log = structlog.get_logger(__name__)

# The delay between a change and the write of the ConfigMap. A tenant's namespaces often change at the same
# time, and one write then covers all of them.
_GATHER_S: Final = 1.0


def namespace_groups(namespaces: Iterable[Manifest]) -> list[Collection[str]]:
    """Groups of namespace names. A pod can resolve the services in all namespaces of its own group.

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
        """`namespaces` is the informer of the namespaces that belong to tenants.

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
        self._unlisted = 0

    @property
    def threads(self) -> Sequence[threading.Thread]:
        return [*super().threads, self.informer]

    def start(self) -> None:
        """Start the threads. Call `start` only after the informer `namespaces` is synced.

        Otherwise, a tenant's namespace that is not listed yet could count as a platform namespace, and pods
        in platform namespaces can resolve all services.
        """
        self.wake()
        self.informer.start()
        super().start()

    def notes(self) -> list[str]:
        """One message if the ConfigMap is too small for all tenants. Otherwise empty."""
        if not self._unlisted:
            return []
        effect = "can resolve only names in their own namespace and in shared namespaces"
        config_map = f"{COREDNS_NAMESPACE}/{COREDNS_CONFIG_MAP}"
        return [
            f"DNS isolation: ConfigMap {config_map} is full; the pods of {self._unlisted} tenants {effect}"
        ]

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

    def desired(self) -> Manifest:
        """The ConfigMap for the current namespaces. `notes` reports if it is too small for all tenants."""
        namespaces = [self._namespaces.get(key) for key in self._namespaces.object_keys()]
        groups = namespace_groups(filter(None, namespaces))
        unlisted, before = unlisted_groups(groups), self._unlisted
        self._unlisted = unlisted
        for note in self.notes() if unlisted != before else ():
            log.warning("DNS config incomplete", problem=note)
        return coredns_config_map(groups)

    def _write(self) -> None:
        desired = self.desired()
        live = self.informer.get(object_key(desired)) or {}
        if (live.get("data") or {}).get(COREFILE_KEY) != desired["data"][COREFILE_KEY]:
            self._cluster.apply(desired)
            log.info("DNS config written", config_map=f"{COREDNS_NAMESPACE}/{COREDNS_CONFIG_MAP}")
