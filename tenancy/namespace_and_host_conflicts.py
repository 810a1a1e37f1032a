"""Rejects a tenant if one of its namespaces, hosts or extra objects belongs to somebody else. No I/O.

Extra objects are the objects in `extraResources`.
"""

from collections.abc import Mapping
from typing import Final

from tenancy.base.errors import AdoptionNotAllowed, HostTaken, NamespaceTaken, ObjectTaken, combined
from tenancy.base.kinds import CONFIG_MAP, DISRUPTION_BUDGET, NAMESPACE, SERVICE
from tenancy.base.labels import (
    ADOPTION_ANNOTATION,
    MANAGED_LABEL,
    SHARED_LABEL,
    TENANT_LABEL,
    USER_ID_LABEL,
    USERNAME_LABEL,
)
from tenancy.base.manifest import Manifest, ObjectKey, is_deleting
from tenancy.base.platform_names import INTEGRATION_NAMESPACES, SHARED_NAMESPACE, SYSTEM_NAMESPACE
from tenancy.desired import DesiredState
from tenancy.objects.policy_annotations import hosts_overlap
from tenancy.spec.tenant import TenantModel

# Namespaces of Kubernetes, of the platform, and of common projects with rights in the whole cluster.
NEVER_ADOPTED: Final = (
    "default",
    SYSTEM_NAMESPACE,
    SHARED_NAMESPACE,
    *INTEGRATION_NAMESPACES,
    "argo",
    "argocd",
    "cert-manager",
    "external-dns",
    "external-secrets",
    "flux-system",
    "ingress-nginx",
    "kyverno",
    "local-path-storage",
    "longhorn-system",
    "metallb-system",
    "openebs",
    "rook-ceph",
    "tigera-operator",
    "velero",
)
RESERVED_PREFIXES: Final = ("calico-", "cattle-", "cilium", "istio-", "kube-", "linkerd", "openshift")
_RESERVED: Final = "is reserved for Kubernetes or the platform, and can't be adopted"
# Kinds of extra objects that users create too. A user's object can have the same name as an extra object.
SHARED_KINDS: Final = {kind.key for kind in (CONFIG_MAP, SERVICE, DISRUPTION_BUDGET)}

# Objects that were read from the cluster. The value is None if the object does not exist.
LiveObjects = Mapping[ObjectKey, Manifest | None]


def check_namespaces(
    tenant: TenantModel, manifest: Manifest, holders: Mapping[str, str], live: LiveObjects
) -> None:
    """Raise NamespaceTaken if a namespace of the tenant belongs to somebody else, or cannot be adopted.

    `manifest` is the Tenant. `holders` maps each namespace to its tenant. `live` contains the Namespaces that
    the caller has read from the cluster.
    """
    rejections: list[NamespaceTaken] = []
    for index, namespace in enumerate(tenant.namespaces()):
        problem = (
            _name_problem(namespace)
            or _live_problem(tenant, index, live)
            or _account_problem(tenant, manifest, live.get(namespace_key(namespace)))
            or _holder_problem(tenant.name, namespace, holders)
        )
        field = tenant.namespace_field(index)
        if problem:
            rejections.append(NamespaceTaken(field, f"namespace {namespace!r} {problem}"))
        elif _lacks_annotation(tenant.name, live.get(namespace_key(namespace))):
            text = (
                f"namespace {namespace!r} does not allow the adoption; to allow it, run: "
                f"{adoption_command(namespace, tenant.name)}"
            )
            rejections.append(AdoptionNotAllowed(field, text))
    if rejections:
        raise combined(rejections)


def _name_problem(namespace: str) -> str | None:
    """The reason why no tenant can have a namespace of this name. None if the name is not reserved."""
    return _RESERVED if namespace in NEVER_ADOPTED or namespace.startswith(RESERVED_PREFIXES) else None


def _taken_by(holder: str) -> str:
    return f"belongs to tenant {holder!r}; choose another namespace"


def _holder_problem(tenant: str, namespace: str, holders: Mapping[str, str]) -> str | None:
    holder = holders.get(namespace, tenant)
    return None if holder == tenant else _taken_by(holder)


def _live_problem(tenant: TenantModel, index: int, live_objects: LiveObjects) -> str | None:
    """The reason why the tenant can't create or adopt a namespace. None if there is no such reason.

    `index` is the position of the namespace in `tenant.namespaces()`.
    """
    name, namespace_spec = list(tenant.namespaces().items())[index]
    key = namespace_key(name)
    if key not in live_objects:
        return None
    live = live_objects[key]
    if live is None:
        must_exist = namespace_spec is not None and namespace_spec.existing is not None
        return "does not exist, so it can't be adopted; correct its name" if must_exist else None
    labels = _labels(live)
    holder = labels.get(TENANT_LABEL, "")
    if _is_managed_by(tenant.name, live):
        return None
    if holder and holder != tenant.name:
        return _taken_by(holder)
    if not tenant.spec.adopt:
        return "exists already and belongs to no tenant; set spec.adopt to true to adopt it"
    if SHARED_LABEL in labels:
        return _RESERVED
    if is_deleting(live):
        return "is being deleted, so it can't be adopted; choose another namespace"
    return None


def _account_problem(tenant: TenantModel, manifest: Manifest, live: Manifest | None) -> str | None:
    """The reason why the tenant can't use a namespace of a deleted Tenant with the same name.

    None if the tenant can use the namespace. Annotations of the namespace contain the account (`userId` and
    `username`) of the deleted Tenant. The new Tenant must have the same account. The check is skipped if the
    manifest has no creation time.
    """
    if live is None or tenant.spec.adopt or not _is_managed_by(tenant.name, live):
        return None
    created = manifest["metadata"].get("creationTimestamp")
    known = (manifest.get("status") or {}).get("namespaceStatus") or {}
    if not created or live["metadata"]["creationTimestamp"] >= created or live["metadata"]["name"] in known:
        return None
    annotations = live["metadata"].get("annotations") or {}
    recorded = {key: annotations.get(key) for key in (USER_ID_LABEL, USERNAME_LABEL)}
    if recorded == {USER_ID_LABEL: tenant.spec.user_id, USERNAME_LABEL: tenant.spec.username}:
        return None
    return (
        f"was left by an earlier tenant {tenant.name!r} with another account (userId: "
        f"{recorded[USER_ID_LABEL] or 'none'}, username: {recorded[USERNAME_LABEL] or 'none'}); use the same "
        "account, or set spec.adopt to true to take the namespace back with all its objects"
    )


def adoption_command(namespace: str, tenant: str) -> str:
    """A kubectl command that annotates the namespace, so that the tenant can adopt it."""
    return f"kubectl annotate namespace {namespace} {ADOPTION_ANNOTATION}={tenant}"


def _lacks_annotation(tenant: str, live: Manifest | None) -> bool:
    """Whether the tenant must adopt the live namespace, but has no permission for the adoption.

    An annotation of the namespace gives this permission.
    """
    if live is None or _is_managed_by(tenant, live):
        return False
    return (live["metadata"].get("annotations") or {}).get(ADOPTION_ANNOTATION) != tenant


def _is_managed_by(tenant: str, live: Manifest) -> bool:
    labels = _labels(live)
    return labels.get(TENANT_LABEL) == tenant and labels.get(MANAGED_LABEL) == "true"


def check_hosts(desired: DesiredState, hosts: Mapping[str, tuple[str, ...]]) -> None:
    """Raise HostTaken if a host of the tenant belongs to another tenant.

    The keys of `hosts` are the names of tenants.
    """
    rejections = [
        HostTaken(
            f"spec.hostnames[{index}]", f"host {host!r} belongs to tenant {other!r}; choose another host"
        )
        for index, host in enumerate(desired.hostnames)
        for other, other_hosts in hosts.items()
        if other != desired.tenant and any(hosts_overlap(host, other_host) for other_host in other_hosts)
    ]
    if rejections:
        raise combined(rejections)


def check_extra_objects(tenant: TenantModel, desired: DesiredState, live: LiveObjects) -> None:
    """Raise ObjectTaken if an extra object would overwrite an object that the platform does not manage."""
    root = "spec" if tenant.spec.extra_resources else f"plans.{tenant.spec.plan}"
    rejections: list[ObjectTaken] = []
    for key in desired.by_key:
        live_object = live.get(key) if key.kind in SHARED_KINDS else None
        if live_object is not None and _labels(live_object).get(MANAGED_LABEL) != "true":
            problem = (
                f"{key} exists already and is not managed by the platform; delete it, or rename the extra "
                "object"
            )
            rejections.append(ObjectTaken(f"{root}.extraResources", problem))
    if rejections:
        raise combined(rejections)


def namespace_key(name: str) -> ObjectKey:
    return ObjectKey(NAMESPACE.kind, "", name)


def _labels(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("labels") or {}
