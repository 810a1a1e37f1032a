"""The other door, chosen by the stack's name: the platform itself, or one tenant.

`pulumi up --stack platform` installs all that the platform needs. Its settings are those of
`tenancy/platform/settings.py`, each with `pulumi config set`; `plans` is a file.

`pulumi up --stack tenant-NAME` builds what the watcher builds, on the same stack. It reads the Tenant from
the cluster that kubectl would use. Two optional settings: `manifest`, a file to read it from; `plans`,
a file to use in place of the plans in force.
"""

from pathlib import Path
from typing import Any

import pulumi
import yaml
from pydantic import ValidationError

from cluster.client import Cluster, ClusterError
from cluster.plans_in_force import plans_in_force
from cluster.served_kinds import is_served, served_kinds
from cluster.tenants import is_deleting, live_quotas, read_tenant
from tenancy.base.errors import TenancyError, validation_message
from tenancy.base.manifest import Manifest
from tenancy.base.names import tenant_of_stack
from tenancy.base.platform_names import PLATFORM_STACK
from tenancy.component import TenantResources
from tenancy.desired import desired_state
from tenancy.plans import SHIPPED_PLANS, read_plans
from tenancy.platform.component import PlatformResources
from tenancy.platform.manifests import optional_kinds, platform_manifests
from tenancy.platform.settings import PlatformSettings
from tenancy.quota_transition import budget_problem, budget_step
from tenancy.spec.tenant import tenant_from_manifest
from watcher.reconciler.apply import leaving_namespaces
from watcher.reconciler.claims import check_against_others


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


def platform_settings(config: pulumi.Config) -> PlatformSettings:
    names = [field.alias or name for name, field in PlatformSettings.model_fields.items()]
    given: dict[str, Any] = {name: config.get(name) for name in names}
    given["monitoringLabels"] = config.get_object("monitoringLabels")
    given["plans"] = Path(given["plans"] or SHIPPED_PLANS).read_text(encoding="utf-8")
    try:
        return PlatformSettings.model_validate({name: value for name, value in given.items() if value})
    except ValidationError as error:
        raise pulumi.RunError(": ".join(validation_message(error, "pulumi config"))) from None


def build_platform(config: pulumi.Config) -> None:
    settings = platform_settings(config)
    cluster = Cluster.connect()
    kinds = optional_kinds(settings)
    served = [kind for kind in kinds if is_served(cluster, kind)]
    if absent := [kind.crd for kind in kinds if kind not in served]:
        pulumi.log.warn(
            f"left out, because the cluster lacks these CRDs: {', '.join(absent)}. "
            "Once they are there, the next `pulumi up` adds what is missing."
        )
    PlatformResources(PLATFORM_STACK, platform_manifests(settings, served))


def build_tenant(config: pulumi.Config, name: str) -> None:
    cluster = Cluster.connect()
    manifest = tenant_manifest(cluster, name, config.get("manifest"))
    if is_deleting(manifest):
        raise pulumi.RunError(f"the Tenant {name!r} is being deleted; the watcher ends it")
    tenant = tenant_from_manifest(manifest)
    file = config.get("plans")
    plans = read_plans(Path(file)) if file else plans_in_force(cluster)
    desired = desired_state(tenant, plans, served_kinds(cluster))
    check_against_others(cluster, manifest, tenant, desired)
    if desired.retains:
        refuse_to_drop(leaving_namespaces(cluster, manifest, desired))
    quotas = live_quotas(cluster, name)
    if problem := budget_problem(desired, quotas):
        raise pulumi.RunError(problem)
    step = budget_step(desired, quotas)
    if step is not desired:
        pulumi.log.warn("quotas that share a budget are lowered first: run `pulumi up` again to raise others")
    TenantResources(name, step)


def refuse_to_drop(leaving: list[Manifest]) -> None:
    """What Pulumi does with a namespace that leaves is written in its state, and may not be `Retain` yet."""
    names = ", ".join(namespace["metadata"]["name"] for namespace in leaving)
    if not leaving:
        return
    if pulumi.runtime.is_dry_run():
        pulumi.log.warn(
            f"namespaces leave and are to stay: {names}; the watcher lets go of them, not `pulumi up`"
        )
        return
    raise pulumi.RunError(
        f"spec.deletionPolicy: {names} would leave the stack, and could be deleted with it; "
        "apply the Tenant and let the watcher release them"
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
