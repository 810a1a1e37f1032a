"""`tenancy import`: prints the manifest of a Tenant that adopts existing namespaces. It changes nothing.

The manifest contains the access rules and the quotas of the namespaces. Comments above the manifest tell the
user what to check, for example a NetworkPolicy that stays in a namespace.
"""

import json
from enum import StrEnum
from typing import Annotated, Final

import typer
import yaml

from cli.adoption.existing_namespaces import ExistingNamespace, pod_security_warnings, read_existing_namespace
from cli.adoption.import_notes import binding_notes, plan_notes, policy_notes, quota_notes
from cli.adoption.tenant_from_namespaces import adopting_manifest, smallest_fitting_plan
from cli.connection import Connection
from cli.output import console, error_console
from cluster.client import Cluster
from cluster.facts import decide_on_live_facts
from cluster.tenants import read_tenant
from tenancy.base.errors import NamespaceTaken, Rejection, TenancyError
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest
from tenancy.namespace_and_host_conflicts import adoption_command
from tenancy.plans import Plans
from tenancy.spec.effective_settings import effective_settings
from tenancy.spec.tenant import TenantModel, tenant_from_manifest

_RETAIN: Final = "  deletionPolicy: Retain"
_WHY_RETAIN: Final = "  # These namespaces existed before the tenant. They stay when the tenant is deleted.\n"


class ManifestFormat(StrEnum):
    YAML = "yaml"
    JSON = "json"


class ImportRefused(TenancyError):
    reason = "ImportRefused"


def import_namespaces(
    context: typer.Context,
    namespaces: Annotated[
        list[str], typer.Argument(metavar="NAMESPACE", help="The full names of existing namespaces.")
    ],
    name: Annotated[str, typer.Option("--name", help="The tenant's name.")],
    plan: Annotated[
        str | None,
        typer.Option(
            "--plan",
            help="The tenant's plan. Default: the smallest plan that is large enough for the namespaces.",
        ),
    ] = None,
    output: Annotated[
        ManifestFormat,
        typer.Option(
            "--output",
            "-o",
            help="The output format. YAML contains notes as comments. With JSON, the command prints the "
            "notes to standard error.",
        ),
    ] = ManifestFormat.YAML,
) -> None:
    """Print a Tenant manifest that adopts (takes over) existing namespaces with their workloads.

    The command changes nothing in the cluster. Review the manifest, and apply it with `tenancy apply`.
    """
    connection: Connection = context.obj
    if read_tenant(connection.cluster, name) is not None:
        raise ImportRefused(f"the tenant {name!r} already exists; add the namespaces to its spec")
    for namespace in namespaces:
        if connection.cluster.get(NAMESPACE, namespace) is None:
            raise ImportRefused(f"there is no namespace {namespace!r}")
    plans = connection.plans()
    existing = [
        read_existing_namespace(connection.cluster, namespace) for namespace in dict.fromkeys(namespaces)
    ]
    plan_name = plan or smallest_fitting_plan(plans, existing)
    tenant_plan = plans.plan(plan_name)
    manifest = adopting_manifest(name, plan_name, existing)
    tenant = tenant_from_manifest(manifest)
    problems = _problem_notes(connection.cluster, manifest, plans)
    notes = [
        *plan_notes(plan_name, tenant_plan, existing),
        *_security_notes(connection.cluster, tenant, plans, existing),
        *(
            note
            for namespace in existing
            for object_notes in (binding_notes, quota_notes, policy_notes)
            for note in object_notes(namespace)
        ),
        *problems,
    ]
    _print(manifest, notes, output)


def _security_notes(
    cluster: Cluster, tenant: TenantModel, plans: Plans, namespaces: list[ExistingNamespace]
) -> list[str]:
    level = effective_settings(plans.plan(tenant.spec.plan), tenant.spec).pod_security
    return [
        f"Pod security {level.value}: {warning}. These pods keep running, but the API server rejects new "
        "pods like them. Fix the pods, or set spec.podSecurity."
        for namespace in namespaces
        for warning in pod_security_warnings(cluster, namespace.name, level)
    ]


def _problem_notes(cluster: Cluster, manifest: Manifest, plans: Plans) -> list[str]:
    """Notes about the errors with which the watcher would reject the manifest. Empty if there are no errors.

    If only the permission to adopt the namespaces is missing, the notes contain the commands that give this
    permission. Raises NamespaceTaken if a namespace cannot be adopted for another reason. The user cannot fix
    this error in the manifest.
    """
    try:
        decide_on_live_facts(cluster, manifest, plans)
    except NamespaceTaken as error:
        if any(type(rejection) is NamespaceTaken for rejection in error.each):
            raise
        return [
            f"Before you apply this manifest, allow the adoption: {adoption_command(namespace, tenant.name)}"
            for tenant in [tenant_from_manifest(manifest)]
            for namespace in tenant.namespaces()
        ]
    except Rejection as error:
        return [f"INVALID. The watcher would reject this manifest: {error}"]
    return []


def _print(manifest: Manifest, notes: list[str], output: ManifestFormat) -> None:
    if output is ManifestFormat.JSON:
        for note in notes:
            error_console.print(note)
        console.print(json.dumps(manifest, indent=2, ensure_ascii=False))
        return
    text = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True).rstrip()
    comments = "".join(f"# {' '.join(note.split())}\n" for note in notes)
    console.print(comments + text.replace(_RETAIN, _WHY_RETAIN + _RETAIN))
