"""What manifests are compared with: the cluster as it is, a git revision, or nothing.

Reads only. The comparison itself is in `compare`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cli.connection import Connection, Objects
from cli.manifests import TenantDocument, parsed_manifests
from cli.preview.git_revision import sources_at_revision
from cluster.client import Cluster
from cluster.tenants import read_tenant, read_tenants
from tenancy.base.errors import TenancyError
from tenancy.base.manifest import Manifest
from tenancy.decision import Facts, decide
from tenancy.desired import DesiredState
from tenancy.objects.integrations import ALL_INTEGRATION_KINDS, ServedKinds
from tenancy.plans import Plans


@dataclass(frozen=True)
class Base:
    # In words: compared with …
    told: str
    served: ServedKinds = ALL_INTEGRATION_KINDS
    tenants: Mapping[str, Manifest] = field(default_factory=dict)
    objects: Mapping[str, Objects] = field(default_factory=dict)
    protected: frozenset[str] = frozenset()
    # Where the manifests stand, of those that are from files.
    given: Mapping[str, TenantDocument] = field(default_factory=dict)
    # Kinds of which nothing is known, by their keys.
    unreadable: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    cluster: Cluster | None = None


def nothing() -> Base:
    return Base("nothing: every tenant counts as new")


def read_live(connection: Connection) -> Base:
    """One list per kind, however many tenants there are."""
    cluster = connection.cluster
    tenants: dict[str, Manifest] = {}
    for tenant in read_tenants(cluster):
        name = tenant["metadata"]["name"]
        # Where both groups have the name, one of them is the tenant.
        first = read_tenant(cluster, name) if name in tenants else tenant
        tenants[name] = first or tenant
    unreadable: set[str] = set()
    objects = connection.live_objects_by_tenant(unreadable)
    return Base(
        "the cluster as it is",
        connection.served,
        tenants,
        objects,
        frozenset(name for name, tenant in tenants.items() if _is_protected(tenant)),
        unreadable=frozenset(unreadable),
        cluster=cluster,
    )


def read_revision(revision: str, paths: Sequence[str], plans: Plans) -> Base:
    """As the manifests stood, with the plans that stood beside them."""
    found = parsed_manifests(sources_at_revision(revision, paths))
    notes = [f"at {revision}: {fault}" for fault in found.faults]
    states: dict[str, DesiredState] = {}
    given: dict[str, TenantDocument] = {}
    for one in found.tenants:
        try:
            states[one.name] = decide(one.manifest, Facts(plans)).desired
            given[one.name] = one
        except TenancyError as error:
            notes.append(f"at {revision}: {one.file}:{one.line}: tenant {one.name}: {error}; counts as new")
    return Base(
        f"revision {revision}",
        tenants={name: one.manifest for name, one in given.items()},
        objects={name: dict(state.by_key) for name, state in states.items()},
        protected=frozenset(name for name, state in states.items() if state.is_protected),
        given=given,
        notes=tuple(notes),
    )


def _is_protected(tenant: Manifest) -> bool:
    """As the guard in the cluster sees it: the spec's word goes before the plan's."""
    given = tenant["spec"].get("protected")
    return bool((tenant.get("status") or {}).get("protected") if given is None else given)
