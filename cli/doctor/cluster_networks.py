"""Checks the platform setting `clusterNetworks`: the networks of the cluster's pods, Services and nodes.

The admission policies do not allow tenants to create endpoints with addresses in these networks. If the
setting is empty, a tenant with a broad egress network can create endpoints for the pods of other tenants.
"""

from typing import Final

from cli.connection import Connection
from cli.doctor.finding import CheckResult, ok, warning
from tenancy.base.kinds import NAMESPACE
from tenancy.base.labels import MANAGED_SELECTOR, TENANT_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import CLUSTER_NETWORKS, SYSTEM_NAMESPACE
from tenancy.objects.policy_annotations import EGRESS_NETWORKS

_SUBJECT: Final = "cluster networks"
_FIX: Final = (
    "pulumi config set --path 'clusterNetworks[0]' CIDR --stack platform && pulumi up --stack platform"
)


def check_cluster_networks(connection: Connection) -> list[CheckResult]:
    system = connection.cluster.get(NAMESPACE, SYSTEM_NAMESPACE) or {"metadata": {}}
    networks = _annotation(system, CLUSTER_NETWORKS)
    if networks:
        return [ok(_SUBJECT, networks.replace(",", ", "))]
    namespaces, _ = connection.cluster.list(NAMESPACE, MANAGED_SELECTOR)
    tenants = {
        namespace["metadata"]["labels"][TENANT_LABEL]
        for namespace in namespaces
        if _annotation(namespace, EGRESS_NETWORKS)
    }
    if not tenants:
        return [ok(_SUBJECT, "not set, and no tenant has open egress networks")]
    message = (
        f"the setting clusterNetworks is not set, so these tenants can create endpoints for pods of other "
        f"tenants in their egress networks: {', '.join(sorted(tenants))}"
    )
    return [warning(_SUBJECT, message, _FIX)]


def _annotation(namespace: Manifest, name: str) -> str:
    return str((namespace["metadata"].get("annotations") or {}).get(name, ""))
