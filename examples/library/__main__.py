"""A Pulumi program that creates a tenant together with other resources."""

import pulumi
from pulumi_kubernetes.core.v1 import ConfigMap

import tenancy

team = tenancy.Tenant(
    "library",
    tenancy.TenantSpec(
        plan="pro",
        admin_users=("alice",),
        namespaces=(
            tenancy.NamespaceSpec(name="dev"),
            tenancy.NamespaceSpec(name="prod", purpose=tenancy.Purpose.PRODUCTION),
        ),
        resource_quotas=tenancy.ResourceQuotas(cpu="6", memory="12Gi"),
    ),
)

# `team.namespaces` is an output, so this ConfigMap depends on the namespace. Pulumi creates the ConfigMap
# after the namespace, and deletes it before the namespace.
ConfigMap(
    "welcome",
    metadata={"name": "welcome", "namespace": team.namespaces["dev"]},
    data={"text": "This namespace is yours."},
)

pulumi.export("namespaces", team.namespaces)
pulumi.export("quotas", team.quotas)
