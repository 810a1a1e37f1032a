"""The Pulumi program for users who run `pulumi up` themselves. It updates the platform or one tenant.

`pulumi up --stack platform` installs the platform. Change its settings with `pulumi config set`. The module
`tenancy/platform/settings.py` lists the settings. The setting `plans` is the path of a plans file.

`pulumi up --stack tenant-NAME` updates the stack of one tenant. It applies the same objects as the watcher.
By default, it reads the Tenant and the plans from the cluster that kubectl uses. To read the Tenant from a
file, set `manifest` to the path of this file. To read the plans from a file, set `plans` to the path of this
file.

This program and Pulumi's Kubernetes provider use the same kubeconfig, context and identity.
"""

from pathlib import Path
from typing import Any

import pulumi
import yaml
from pydantic import ValidationError

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.facts import decide_on_live_facts
from cluster.identity import cluster_id
from cluster.plans_in_force import plans_in_force
from cluster.served_kinds import is_served, served_mutating_policies
from cluster.tenants import leaving_namespaces, live_quotas, read_tenant
from tenancy.base.errors import TenancyError
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.base.names import tenant_of_stack
from tenancy.base.platform_names import CLUSTER_STACK, PLATFORM_STACK
from tenancy.base.validation import validation_message
from tenancy.cluster_binding import CLUSTER_ID, other_cluster_problem
from tenancy.component import TenantResources
from tenancy.plans import SHIPPED_PLANS, read_plans
from tenancy.platform.component import PlatformResources
from tenancy.platform.manifests import optional_kinds, platform_manifests
from tenancy.platform.settings import PlatformSettings
from tenancy.quota_transition import budget_step


def tenant_manifest(cluster: Cluster, name: str, file: str | None) -> Manifest:
    if file is None:
        manifest = read_tenant(cluster, name)
        if manifest is None:
            raise pulumi.RunError(
                f"the cluster has no Tenant {name!r}; apply the Tenant with kubectl, or set the path of its "
                "manifest with `pulumi config set manifest FILE`"
            )
        return manifest
    for document in yaml.safe_load_all(Path(file).read_text(encoding="utf-8")):
        if document and document.get("kind") == "Tenant" and document["metadata"]["name"] == name:
            return dict(document)
    raise pulumi.RunError(f"{file} has no Tenant {name!r}")


def platform_settings(config: pulumi.Config) -> PlatformSettings:
    names = [field.alias or name for name, field in PlatformSettings.model_fields.items()]
    values: dict[str, Any] = {name: config.get(name) for name in names}
    for name in ("clusterNetworks", "egressPorts", "monitoringLabels"):
        values[name] = config.get_object(name)
    values["plans"] = Path(values["plans"] or SHIPPED_PLANS).read_text(encoding="utf-8")
    try:
        return PlatformSettings.model_validate({name: value for name, value in values.items() if value})
    except ValidationError as error:
        raise pulumi.RunError(validation_message(error, "pulumi config")) from None


def connect() -> Cluster:
    """Connect to the cluster that Pulumi's Kubernetes provider uses, with the same identity as the provider.

    Raises RunError if a setting gives the provider a kubeconfig that this program does not use, or if the
    state backend belongs to another cluster.
    """
    provider = pulumi.Config("kubernetes")
    for name in ("kubeconfig", "cluster"):
        if provider.get(name):
            raise pulumi.RunError(
                f"kubernetes:{name}: this program does not support the setting, because only Pulumi's "
                "Kubernetes provider would use it; use the variable KUBECONFIG or the setting "
                "kubernetes:context"
            )
    cluster = Cluster.connect(context=provider.get("context"))
    refuse_other_cluster(cluster)
    return cluster


def refuse_other_cluster(cluster: Cluster) -> None:
    """Raise RunError if the state backend belongs to another cluster. The watcher records the cluster."""
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{CLUSTER_STACK}"
    try:
        result = pulumi.runtime.invoke("pulumi:pulumi:readStackOutputs", {"name": stack})
    except Exception as error:
        if "unknown stack" in str(error):
            return  # No watcher has used the backend yet.
        raise pulumi.RunError(f"cannot read which cluster uses the state backend: {error}") from None
    recorded, current = result.value["outputs"].get(CLUSTER_ID), cluster_id(cluster)
    if recorded and recorded != current:
        raise pulumi.RunError(other_cluster_problem(recorded, current))


def build_platform(config: pulumi.Config) -> None:
    settings = platform_settings(config)
    cluster = connect()
    kinds = optional_kinds(settings)
    served = [kind for kind in kinds if is_served(cluster, kind)]
    if absent := [kind.crd for kind in kinds if kind not in served]:
        pulumi.log.warn(
            f"some objects are left out, because the cluster lacks these CRDs: {', '.join(absent)}. "
            "After the CRDs are installed, the next `pulumi up` adds these objects."
        )
    served += served_mutating_policies(cluster)
    PlatformResources(PLATFORM_STACK, platform_manifests(settings, served))


def build_tenant(config: pulumi.Config, name: str) -> None:
    cluster = connect()
    manifest = tenant_manifest(cluster, name, config.get("manifest"))
    if is_deleting(manifest):
        raise pulumi.RunError(
            f"the stack cannot be updated, because the Tenant {name!r} is being deleted; the watcher "
            "destroys the stack"
        )
    file = config.get("plans")
    plans = read_plans(Path(file)) if file else plans_in_force(cluster)
    _, desired = decide_on_live_facts(cluster, manifest, plans)
    if desired.retains:
        refuse_to_drop(leaving_namespaces(cluster, manifest, desired))
    step = budget_step(desired, live_quotas(cluster, name))
    if step is not desired:
        pulumi.log.warn(
            "some quotas are not raised yet, because other quotas in the same budget must be lowered first; "
            "run `pulumi up` again to raise these quotas"
        )
    TenantResources(name, step)


def refuse_to_drop(leaving: list[Manifest]) -> None:
    """Raise RunError if a namespace is removed from the tenant, but must stay in the cluster.

    If `retainOnDelete` is not set for the namespace in the stack's state, Pulumi would delete the namespace.
    In a preview, this function only logs a warning.
    """
    names = ", ".join(namespace["metadata"]["name"] for namespace in leaving)
    if not leaving:
        return
    if pulumi.runtime.is_dry_run():
        pulumi.log.warn(
            f"these namespaces are removed from the tenant but kept in the cluster: {names}; "
            "only the watcher can do this, not `pulumi up`"
        )
        return
    raise pulumi.RunError(
        "spec.deletionPolicy: `pulumi up` would remove these namespaces from the stack, and could delete "
        f"them: {names}. Apply the Tenant with kubectl. The watcher then keeps the namespaces in the cluster"
    )


def main() -> None:
    config = pulumi.Config()
    try:
        if pulumi.get_stack() == PLATFORM_STACK:
            build_platform(config)
        else:
            build_tenant(config, tenant_of_stack(pulumi.get_stack()))
    except (ValueError, KeyError, OSError, yaml.YAMLError, TenancyError, ClusterError) as error:
        raise pulumi.RunError(str(error)) from None


main()
