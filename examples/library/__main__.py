"""A tenant in a program of your own, beside whatever else it makes."""

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

# An object of yours in a namespace of the tenant's: it is made after the namespace, and goes before it.
ConfigMap(
    "welcome",
    metadata={"name": "welcome", "namespace": team.namespaces["dev"]},
    data={"text": "This namespace is yours."},
)

pulumi.export("namespaces", team.namespaces)
pulumi.export("quotas", team.quotas)
