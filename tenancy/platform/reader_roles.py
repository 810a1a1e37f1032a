"""ClusterRoles and Roles with read rights, for previews and for `tenancy doctor`.

The platform does not bind these roles to users. Platform administrators bind them. The rules are derived from
the tables of kinds in `tenancy.base.kinds` and from the manifests of the platform, so they include new kinds
and new objects automatically.

- `tenancy-preview` allows its users to read tenants and their objects, for example in a CI job.
- `tenancy-doctor` allows its users to read the objects of the platform that `tenancy doctor` checks. Users of
  this command need both roles.
"""

from collections.abc import Iterable
from typing import Final

from tenancy.admission.manifests import admission_manifests
from tenancy.base.kinds import (
    CONFIG_MAP,
    CRD,
    LEASE,
    MANAGED_KINDS,
    NODE,
    OPTIONAL_KINDS,
    STATEFUL_SET,
    Kind,
    kind_of,
)
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE, WATCHER, WATCHER_USER
from tenancy.objects.roles import API_VERSION
from tenancy.platform.crd_guard import crd_guard
from tenancy.platform.watcher_rights import Rules, watcher_rbac

PREVIEW_ROLE: Final = "tenancy-preview"
DOCTOR_ROLE: Final = "tenancy-doctor"
_READ: Final = ["get", "list"]
# The ClusterRole `tenancy-preview` gives no access to these kinds. RBAC cannot restrict `list` by label, so
# the right to list ConfigMaps would include the ConfigMaps of all namespaces, which may contain confidential
# data. A preview works without ConfigMaps, and reports that they are missing. The other kinds contain no
# confidential data.
_UNREADABLE_KINDS: Final = (CONFIG_MAP,)
# `tenancy doctor` checks the watcher's workload and its Lease.
_WATCHER_KINDS: Final = (STATEFUL_SET, LEASE)
# `tenancy doctor` checks the labels and taints of dedicated nodes.
_LIST_NODES: Final = {"apiGroups": [NODE.group], "resources": [NODE.plural], "verbs": ["list"]}


def reader_roles() -> list[Manifest]:
    """The ClusterRole and the Role of `tenancy-preview`, followed by those of `tenancy-doctor`."""
    checked = [*watcher_rbac(), *crd_guard(), *admission_manifests(WATCHER_USER)]
    in_cluster = [manifest for manifest in checked if "namespace" not in manifest["metadata"]]
    in_namespace = [manifest for manifest in checked if "namespace" in manifest["metadata"]]
    return [
        _cluster_role(PREVIEW_ROLE, _preview_rules()),
        _role(PREVIEW_ROLE, [_get(CONFIG_MAP, [PLANS_CONFIG_MAP])]),
        _cluster_role(DOCTOR_ROLE, [*_rules_for(in_cluster), _LIST_NODES]),
        _role(DOCTOR_ROLE, [*_rules_for(in_namespace), *(_get(kind, [WATCHER]) for kind in _WATCHER_KINDS)]),
    ]


def _cluster_role(name: str, rules: Rules) -> Manifest:
    return {"apiVersion": API_VERSION, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def _role(name: str, rules: Rules) -> Manifest:
    metadata = {"name": name, "namespace": SYSTEM_NAMESPACE}
    return {"apiVersion": API_VERSION, "kind": "Role", "metadata": metadata, "rules": rules}


def _rules_for(manifests: Iterable[Manifest]) -> Rules:
    """RBAC rules that grant `get` on these objects. The rules list the names of the objects."""
    names: dict[Kind, list[str]] = {}
    for manifest in manifests:
        names.setdefault(kind_of(manifest), []).append(manifest["metadata"]["name"])
    return [_get(kind, kind_names) for kind, kind_names in names.items()]


def _get(kind: Kind, names: list[str]) -> dict[str, list[str]]:
    return {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["get"], "resourceNames": names}


def _preview_rules() -> Rules:
    plurals: dict[str, list[str]] = {}
    for kind in (*MANAGED_KINDS, *OPTIONAL_KINDS, CRD):
        if kind not in _UNREADABLE_KINDS:
            plurals.setdefault(kind.group, []).append(kind.plural)
    return [
        {"apiGroups": list(GROUPS), "resources": ["tenants"], "verbs": _READ},
        *({"apiGroups": [group], "resources": names, "verbs": _READ} for group, names in plurals.items()),
    ]
