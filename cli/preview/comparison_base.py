"""Reads the base of a preview: the state with which the preview compares the manifests.

The base is the live cluster, a git revision, or empty. The module `compare` makes the comparison.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from cli.connection import Connection
from cli.manifests.read import TenantDocument, parsed_manifests
from cli.preview.git_revision import sources_at_revision
from cli.rights.permissions import Right, is_allowed
from cli.rights.reader import Reader
from cluster.client import Cluster
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import CORE_KINDS, CRD, TENANTS, Kind
from tenancy.base.manifest import Manifest, Objects
from tenancy.decision import Facts, decide
from tenancy.desired import DesiredState
from tenancy.objects.integrations import ALL_INTEGRATION_KINDS, ServedKinds
from tenancy.plans import Plans
from tenancy.same_name_in_both_groups import tenants_by_name

# Every tenant has objects of the core kinds. A comparison without these objects would be wrong.
_REQUIRED_KINDS: Final = (*TENANTS, CRD, *CORE_KINDS)


@dataclass(frozen=True)
class Base:
    # Completes the sentence "compared with …".
    description: str
    served: ServedKinds = ALL_INTEGRATION_KINDS
    tenants: Mapping[str, Manifest] = field(default_factory=dict)
    objects: Mapping[str, Objects] = field(default_factory=dict)
    protected: frozenset[str] = frozenset()
    # The documents at the git revision, by tenant. Empty if the base is not a git revision.
    documents: Mapping[str, TenantDocument] = field(default_factory=dict)
    # The keys of kinds that the user cannot list.
    unreadable: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    cluster: Cluster | None = None
    # The kinds of Tenants that the user may patch. For these kinds, the API server can compute a dry run.
    patchable: frozenset[Kind] = frozenset()


def empty_base() -> Base:
    return Base("nothing: every tenant counts as new")


def read_live(connection: Connection) -> Base:
    """Read all tenants and their objects from the cluster.

    Raises MissingRight if the user cannot read Tenants, CRDs, or the objects that every tenant has.
    """
    reader = Reader(connection)
    base = readable_base(reader)
    if missing := [right for right in reader.missing if right.kind in _REQUIRED_KINDS]:
        raise reader.error(missing)
    cluster = connection.cluster
    return replace(
        base, patchable=frozenset(kind for kind in TENANTS if is_allowed(cluster, Right("patch", kind)))
    )


def readable_base(reader: Reader, known: Iterable[Manifest] = ()) -> Base:
    """Read the tenants and objects that the user may read, with one list request per kind.

    The base also contains the Tenants in `known`, which the caller has already read. Some users have the
    right to get single Tenants, but not the right to list all Tenants.
    """
    tenants = tenants_by_name([*known, *reader.tenants()])
    objects = reader.objects_by_tenant()
    return Base(
        "the cluster as it is",
        ALL_INTEGRATION_KINDS if reader.served is None else reader.served,
        tenants,
        objects,
        frozenset(name for name, tenant in tenants.items() if is_protected(tenant)),
        unreadable=reader.unreadable,
        cluster=reader.connection.cluster,
    )


def read_revision(revision: str, paths: Sequence[str], plans: Plans) -> Base:
    """Read the manifests in `paths` at a git revision.

    The base contains the objects that each tenant has according to its manifest and `plans`. If a tenant is
    invalid at the revision, the base does not contain the tenant, and a note reports it. Raises RevisionError
    if git cannot read the revision.
    """
    manifests = parsed_manifests(sources_at_revision(revision, paths))
    notes = [f"at {revision}: {fault}" for fault in manifests.faults]
    states: dict[str, DesiredState] = {}
    documents: dict[str, TenantDocument] = {}
    for document in manifests.tenants:
        name = document.name
        try:
            states[name] = decide(document.manifest, Facts(plans)).desired
            documents[name] = document
        except TenancyError as error:
            location = f"{document.file}:{document.line}"
            notes.append(f"at {revision}: {location}: tenant {name}: {error}; the tenant counts as new")
    return Base(
        f"revision {revision}",
        tenants={name: document.manifest for name, document in documents.items()},
        objects={name: dict(state.by_key) for name, state in states.items()},
        protected=frozenset(name for name, state in states.items() if state.is_protected),
        documents=documents,
        notes=tuple(notes),
    )


def is_protected(tenant: Manifest) -> bool:
    """Whether the admission policy denies the deletion of the Tenant.

    The value is `spec.protected`. If this field is not set, the value is `status.protected`.
    """
    in_spec = tenant["spec"].get("protected")
    return bool((tenant.get("status") or {}).get("protected") if in_spec is None else in_spec)
