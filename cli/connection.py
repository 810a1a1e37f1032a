"""Gives commands access to the cluster, to the plans that the watcher uses, and to the Pulumi stacks.

The connection to the cluster is opened on first use. The functions import large modules only when they need
them, so that a command does not wait for modules that it does not use.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cluster.connection.impersonation import NO_IMPERSONATION, Impersonation
from stacks.errors import StackError
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import MANAGED_KINDS, TENANTS, Kind
from tenancy.base.labels import tenant_selector
from tenancy.base.manifest import Manifest, Objects, object_key
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER

if TYPE_CHECKING:
    from cluster.client import Cluster
    from cluster.connection.transport import Transport
    from stacks.stack import Stacks
    from tenancy.plans import Plans

_TIMEOUT_S: Final = 120.0


class NoSuchTenant(TenancyError):
    reason = "NoSuchTenant"


def no_such_tenant(name: str) -> NoSuchTenant:
    return NoSuchTenant(f"there is no tenant {name!r}; run `tenancy list` to see all tenants")


@dataclass(frozen=True)
class Connection:
    """Access to a cluster. The global options select the cluster and the impersonated user."""

    kubeconfig: Path | None = None
    context: str | None = None
    impersonation: Impersonation = NO_IMPERSONATION

    @classmethod
    def from_options(
        cls,
        kubeconfig: Path | None = None,
        cluster_context: str | None = None,
        as_user: str | None = None,
        as_groups: list[str] | None = None,
        as_uid: str | None = None,
        **_: object,
    ) -> "Connection":
        """The connection for these values of the global options. Other options are ignored."""
        impersonation = Impersonation(as_user or "", tuple(as_groups or ()), as_uid or "")
        return cls(kubeconfig, cluster_context, impersonation)

    @cached_property
    def cluster(self) -> "Cluster":
        from cluster.client import Cluster

        return Cluster.connect(self.kubeconfig, self.context, self.impersonation)

    def transport(self, impersonation: Impersonation) -> "Transport":
        """A client of the same cluster that impersonates another user."""
        from cluster.connection.transport import Transport

        return Transport.connect(self.kubeconfig, self.context, impersonation)

    @cached_property
    def served(self) -> frozenset[Kind]:
        """The kinds of integrations, such as Istio, that the cluster serves."""
        from cluster.served_kinds import served_kinds

        return served_kinds(self.cluster)

    def plans(self, file: Path | None = None) -> "Plans":
        """The plans in the file. If no file is given, the plans that the watcher in the cluster uses."""
        from cluster.plans_in_force import plans_in_force
        from tenancy.plans import read_plans

        return read_plans(file) if file else plans_in_force(self.cluster)

    def tenant(self, name: str) -> Manifest:
        """The live Tenant. Raises NoSuchTenant if it does not exist."""
        from cluster.tenants import read_tenant

        manifest = read_tenant(self.cluster, name)
        if manifest is None:
            raise no_such_tenant(name)
        return manifest

    def tenant_names(self) -> set[str]:
        """The names of all Tenants."""
        tenants = [tenant for kind in TENANTS for tenant in self.cluster.list(kind, is_metadata_only=True)[0]]
        return {tenant["metadata"]["name"] for tenant in tenants}

    def live_objects(self, tenant: str) -> Objects:
        """The live objects that the watcher manages for this tenant."""
        manifests = [
            manifest
            for kind in (*MANAGED_KINDS, *self.served)
            for manifest in self.cluster.list(kind, tenant_selector(tenant))[0]
        ]
        return {object_key(manifest): manifest for manifest in manifests}

    @contextmanager
    def stacks(self, *, is_claimed: bool = False) -> Iterator["Stacks"]:
        """Give access to the stacks of all tenants until the `with` block ends.

        The environment variable PULUMI_BACKEND_URL is the URL of the state backend. Raises StackError if the
        variable is not set, or if the backend belongs to another cluster. With `is_claimed`, the caller
        claims the backend for this cluster.
        """
        from stacks.command import PulumiProcess
        from stacks.stack import Stacks

        url = os.environ.get("PULUMI_BACKEND_URL")
        if not url:
            raise StackError(
                "no state backend: set PULUMI_BACKEND_URL and PULUMI_CONFIG_PASSPHRASE to the values of the "
                "watcher, or run the command in the watcher's pod: "
                f"kubectl -n {SYSTEM_NAMESPACE} exec {WATCHER}-0 -- tenancy …"
            )
        with tempfile.TemporaryDirectory(prefix="tenancy-") as folder:
            stacks = Stacks(url, Path(folder), PulumiProcess(_TIMEOUT_S))
            if not is_claimed:
                self._refuse_other_cluster(stacks)
            yield stacks

    def _refuse_other_cluster(self, stacks: "Stacks") -> None:
        """Raise OtherCluster if the backend belongs to another cluster.

        If the user may not read the namespace that identifies the cluster, check nothing: commands that
        change stacks need more rights than this.
        """
        from cluster.errors import ClusterError
        from cluster.identity import cluster_id

        try:
            current = cluster_id(self.cluster)
        except ClusterError as error:
            if error.is_forbidden:
                return
            raise
        stacks.cluster_record.check(current)
