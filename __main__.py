"""The other door: `pulumi up --stack tenant-NAME` builds what the watcher builds, on the same stack.

It reads the Tenant from the cluster that kubectl would use. Two optional settings, with `pulumi
config set`: `manifest`, a file to read the Tenant from instead; `plans`, the plans file.
"""

from pathlib import Path

import pulumi
import yaml

from tenancy.component import TenantResources
from tenancy.desired import desired_state
from tenancy.errors import TenancyError
from tenancy.manifest import Manifest
from tenancy.names import tenant_of_stack
from tenancy.plans import SHIPPED_PLANS, read_plans
from tenancy.tenant import tenant_from_manifest
from watcher.claims import Claims
from watcher.cluster import Cluster, ClusterError
from watcher.integrations import served_kinds
from watcher.tenants import known_namespaces, read_tenant


def tenant_manifest(cluster: Cluster, name: str, file: str | None) -> Manifest:
    if file is None:
        found = read_tenant(cluster, name)
        if found is None:
            raise pulumi.RunError(
                f"the cluster has no Tenant {name!r}; apply it, or set `manifest` to its file"
            )
        return found
    for manifest in yaml.safe_load_all(Path(file).read_text(encoding="utf-8")):
        if manifest and manifest.get("kind") == "Tenant" and manifest["metadata"]["name"] == name:
            return dict(manifest)
    raise pulumi.RunError(f"{file} has no Tenant {name!r}")


def main() -> None:
    config = pulumi.Config()
    try:
        name = tenant_of_stack(pulumi.get_stack())
        cluster = Cluster.connect()
        manifest = tenant_manifest(cluster, name, config.get("manifest"))
        tenant = tenant_from_manifest(manifest)
        desired = desired_state(
            tenant, read_plans(Path(config.get("plans") or SHIPPED_PLANS)), served_kinds(cluster)
        )
        Claims(cluster).take(tenant, desired.hostnames, known_namespaces(manifest))
    except (ValueError, KeyError, OSError, yaml.YAMLError, TenancyError, ClusterError) as error:
        raise pulumi.RunError(str(error)) from None
    TenantResources(name, desired)


main()
