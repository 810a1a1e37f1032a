"""The Pulumi program for operators. The stack's name selects the platform or one tenant.

`pulumi up --stack platform` installs the platform. Set its settings with `pulumi config set`; they are listed
in `tenancy/platform/settings.py`. `plans` is the path of a plans file.

`pulumi up --stack tenant-NAME` applies the same objects as the watcher, on the same stack. It reads the
Tenant from the cluster that kubectl uses. Optional settings: `manifest`, a file with the Tenant; `plans`, a
plans file to use instead of the plans in the cluster.
"""

from pathlib import Path
from typing import Any

import pulumi
import yaml
from pydantic import ValidationError

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.facts import decide_on_live_facts
from cluster.plans_in_force import plans_in_force
from cluster.served_kinds import is_served
from cluster.tenants import leaving_namespaces, live_quotas, read_tenant
from tenancy.base.errors import TenancyError, validation_message
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.base.names import tenant_of_stack
from tenancy.base.platform_names import PLATFORM_STACK
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
                f"the cluster has no Tenant {name!r}; apply it, or set `manifest` to its file"
            )
        return manifest
    for document in yaml.safe_load_all(Path(file).read_text(encoding="utf-8")):
        if document and document.get("kind") == "Tenant" and document["metadata"]["name"] == name:
            return dict(document)
    raise pulumi.RunError(f"{file} has no Tenant {name!r}")


def platform_settings(config: pulumi.Config) -> PlatformSettings:
    names = [field.alias or name for name, field in PlatformSettings.model_fields.items()]
    values: dict[str, Any] = {name: config.get(name) for name in names}
    values["monitoringLabels"] = config.get_object("monitoringLabels")
    values["plans"] = Path(values["plans"] or SHIPPED_PLANS).read_text(encoding="utf-8")
    try:
        return PlatformSettings.model_validate({name: value for name, value in values.items() if value})
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
            "Once they are installed, the next `pulumi up` adds the missing objects."
        )
    PlatformResources(PLATFORM_STACK, platform_manifests(settings, served))


def build_tenant(config: pulumi.Config, name: str) -> None:
    cluster = Cluster.connect()
    manifest = tenant_manifest(cluster, name, config.get("manifest"))
    if is_deleting(manifest):
        raise pulumi.RunError(f"the Tenant {name!r} is being deleted; the watcher ends it")
    file = config.get("plans")
    plans = read_plans(Path(file)) if file else plans_in_force(cluster)
    _, desired = decide_on_live_facts(cluster, manifest, plans)
    if desired.retains:
        refuse_to_drop(leaving_namespaces(cluster, manifest, desired))
    step = budget_step(desired, live_quotas(cluster, name))
    if step is not desired:
        pulumi.log.warn("quotas that share a budget are lowered first: run `pulumi up` again to raise others")
    TenantResources(name, step)


def refuse_to_drop(leaving: list[Manifest]) -> None:
    """Refuse to drop namespaces that must stay: the stack's state may not mark them as retained yet."""
    names = ", ".join(namespace["metadata"]["name"] for namespace in leaving)
    if not leaving:
        return
    if pulumi.runtime.is_dry_run():
        pulumi.log.warn(
            f"namespaces leave the tenant and stay: {names}; the watcher releases them, not `pulumi up`"
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
