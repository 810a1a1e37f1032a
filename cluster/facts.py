"""Reads facts from the cluster. `tenancy.decision` uses these facts to accept or reject a Tenant."""

from collections.abc import Collection, Container
from dataclasses import replace

from cluster.client import Cluster
from cluster.served_kinds import served_kinds
from cluster.tenants import known_hosts, known_namespaces, live_quotas, read_tenants
from tenancy.base.kinds import KIND_BY_KEY, NAMESPACE
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.decision import Decision, Facts, keys_to_read
from tenancy.objects.integrations import ServedKinds
from tenancy.plans import Plans
from tenancy.reservations import Reservations


def read_facts(
    cluster: Cluster,
    manifest: Manifest,
    plans: Plans,
    served: ServedKinds,
    own: Collection[ObjectKey] = (),
    unreadable: Container[str] = (),
) -> Facts:
    """Read the live objects that have the same kind, namespace and name as an object of the Tenant.

    Such an object can already exist and belong to somebody else. `manifest` is the Tenant. Sends one request
    per object, except for these objects:

    - Objects in `own`. The caller knows that they belong to the tenant.
    - Namespaces that the Tenant's status lists and in which `own` contains an object. The status alone is not
      a proof, because users may be able to edit it.
    - Objects whose kind is in `unreadable`. The caller has no right to read these kinds.
    """
    names = {*known_namespaces(manifest)} & {key.namespace for key in own}
    live = {
        key: cluster.get(KIND_BY_KEY[key.kind], key.name, key.namespace)
        for key in keys_to_read(manifest, plans, served)
        if key not in own
        and key.kind not in unreadable
        and not (key.kind == NAMESPACE.kind and key.name in names)
    }
    return Facts(plans, served, live=live)


def read_claims(cluster: Cluster) -> Reservations:
    """The namespaces and hosts that belong to each tenant, read from the status of the Tenants."""
    claims = Reservations()
    for tenant in read_tenants(cluster):
        claims.remember(tenant["metadata"]["name"], known_namespaces(tenant), known_hosts(tenant))
    return claims


def decide_on_live_facts(
    cluster: Cluster, manifest: Manifest, plans: Plans, served: ServedKinds | None = None
) -> Decision:
    """Check a Tenant against the cluster's current state, and compute the Tenant's desired state.

    Raises Rejection if one of the checks fails.
    """
    kinds = served_kinds(cluster) if served is None else served
    facts = read_facts(cluster, manifest, plans, kinds)
    quotas = live_quotas(cluster, manifest["metadata"]["name"])
    return read_claims(cluster).decide_and_reserve(manifest, replace(facts, quotas=quotas))
