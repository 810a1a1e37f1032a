"""What a command works with: the cluster, the plans in force, the stacks. Each is opened when first used."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from cluster.client import Cluster, ClusterError
from cluster.live_objects import tenant_of
from cluster.plans_in_force import plans_in_force
from cluster.served_kinds import served_kinds
from cluster.tenants import read_tenant
from stacks.command import PulumiProcess
from stacks.errors import StackError
from stacks.stack import Stacks
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import CORE_KINDS, MANAGED_KINDS, Kind
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.names import MANAGED_SELECTOR, tenant_selector
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tenancy.plans import Plans, read_plans

_TIMEOUT_S: Final = 120.0
_FORBIDDEN: Final = 403

Objects = dict[ObjectKey, Manifest]


class NoSuchTenant(TenancyError):
    reason = "NoSuchTenant"


@dataclass(frozen=True)
class Connection:
    kubeconfig: Path | None = None
    context: str | None = None

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster.connect(self.kubeconfig, self.context)

    @cached_property
    def served(self) -> frozenset[Kind]:
        """The kinds of integrations that the cluster has."""
        return served_kinds(self.cluster)

    def plans(self, file: Path | None = None) -> Plans:
        """Those in the file where one is given, else those that the cluster's watcher goes by."""
        return read_plans(file) if file else plans_in_force(self.cluster)

    def tenant(self, name: str) -> Manifest:
        found = read_tenant(self.cluster, name)
        if found is None:
            raise NoSuchTenant(f"there is no tenant {name!r}; `tenancy list` shows those there are")
        return found

    def live_objects(self, tenant: str) -> Objects:
        """All live objects of one tenant."""
        return dict(self._objects(tenant_selector(tenant)))

    def live_objects_by_tenant(self, unreadable: set[str] | None = None) -> dict[str, Objects]:
        """All live objects of all tenants: one list per kind, however many tenants there are. A kind that may
        not be read is an error, or noted in `unreadable` by its key, where that is given."""
        found: dict[str, Objects] = {}
        for key, manifest in self._objects(MANAGED_SELECTOR, unreadable):
            found.setdefault(tenant_of(manifest), {})[key] = manifest
        return found

    @contextmanager
    def stacks(self) -> Iterator[Stacks]:
        """The stacks of the backend that the environment names, for reading."""
        url = os.environ.get("PULUMI_BACKEND_URL")
        if not url:
            raise StackError(
                "no state backend: set PULUMI_BACKEND_URL and PULUMI_CONFIG_PASSPHRASE as the watcher has "
                f"them, or run this in its pod: kubectl -n {SYSTEM_NAMESPACE} exec {WATCHER}-0 -- tenancy …"
            )
        with tempfile.TemporaryDirectory(prefix="tenancy-") as folder:
            yield Stacks(url, Path(folder), PulumiProcess(_TIMEOUT_S))

    def _objects(
        self, selector: str, unreadable: set[str] | None = None
    ) -> Iterator[tuple[ObjectKey, Manifest]]:
        for kind in (*MANAGED_KINDS, *self.served):
            try:
                manifests, _ = self.cluster.list(kind, selector)
            except ClusterError as error:
                # Without what every tenant is made of, there is nothing to work with.
                if unreadable is None or error.status != _FORBIDDEN or kind in CORE_KINDS:
                    raise
                unreadable.add(kind.key)
                continue
            for manifest in manifests:
                yield object_key(manifest), manifest
