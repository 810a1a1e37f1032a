"""Admission policies for the Namespaces and Tenants that the watcher changes.

The watcher can make an existing namespace a tenant's namespace only if an annotation of the namespace names
the tenant. If somebody removes the platform's labels from a tenant's namespace, the platform is still a field
manager of the namespace. In this case, the watcher can restore the labels.
"""

from tenancy.admission.policy_builder import WRITES, check, metadata_map, policy, rule, sender_is
from tenancy.base.labels import ADOPTION_ANNOTATION, MANAGED_LABEL, TENANT_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.names import FIELD_MANAGER, GROUPS
from tenancy.namespace_and_host_conflicts import NEVER_ADOPTED, RESERVED_PREFIXES


def is_reserved(name: str) -> str:
    """A CEL expression that is true if a namespace name is reserved for Kubernetes or the platform.

    `name` is a CEL expression that returns the name.
    """
    return f"({name} in {list(NEVER_ADOPTED)} || {list(RESERVED_PREFIXES)}.exists(p, {name}.startsWith(p)))"


def watcher_namespace_policies(watcher: str) -> list[Manifest]:
    """The policies for Namespaces and Tenants. `watcher` is the user name of the watcher's ServiceAccount."""
    conditions = {"is-the-watcher": sender_is([watcher])}
    return [*_namespaces(conditions), *_tenants(conditions)]


def _namespaces(conditions: dict[str, str]) -> list[Manifest]:
    consent = metadata_map("oldObject", "annotations")
    return policy(
        "tenancy-watcher-namespaces",
        [rule("", "namespaces", operations=WRITES)],
        [
            check(
                f"!{is_reserved('variables.name')} || request.operation == 'UPDATE' && !variables.is_marked",
                "'metadata.name: namespace ' + variables.name + ' is reserved for Kubernetes or the "
                "platform; the watcher cannot create, mark or delete it'",
                "Forbidden",
            ),
            check(
                "request.operation != 'CREATE' || variables.is_marked",
                "'metadata.labels: the watcher can create namespace ' + variables.name + ' only with the "
                f"labels {MANAGED_LABEL} and {TENANT_LABEL}'",
                "Forbidden",
            ),
            check(
                "request.operation == 'CREATE' || variables.is_own || request.operation == 'UPDATE' && "
                "variables.is_marked && variables.consent == variables.tenant",
                "'metadata.labels: the watcher cannot change namespace ' + variables.name + ', because it "
                "belongs to no tenant; to let a tenant adopt it, run: kubectl annotate namespace ' + "
                f"variables.name + ' {ADOPTION_ANNOTATION}=TENANT'",
                "Forbidden",
            ),
        ],
        variables={
            "name": "request.operation == 'CREATE' ? object.metadata.name : request.name",
            "before": metadata_map("oldObject", "labels"),
            "after": metadata_map("object", "labels"),
            "tenant": f"variables.after[?'{TENANT_LABEL}'].orValue('')",
            "is_marked": f"variables.after[?'{MANAGED_LABEL}'].orValue('') == 'true' && "
            "variables.tenant != ''",
            "is_own": f"variables.before[?'{TENANT_LABEL}'].orValue('') != '' || oldObject != null && "
            f"oldObject.metadata.?managedFields.orValue([]).exists(f, f.manager == '{FIELD_MANAGER}')",
            "consent": f"{consent}[?'{ADOPTION_ANNOTATION}'].orValue('')",
        },
        conditions=conditions,
    )


def _tenants(conditions: dict[str, str]) -> list[Manifest]:
    return policy(
        "tenancy-watcher-tenants",
        [{**rule("", "tenants", operations=["UPDATE"]), "apiGroups": list(GROUPS)}],
        [
            check(
                "object.?spec == oldObject.?spec",
                "'spec: the watcher cannot change the spec of a Tenant'",
                "Forbidden",
            )
        ],
        conditions=conditions,
    )
