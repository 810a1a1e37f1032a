"""A ClusterRole and a Role for previews, for example in a CI job.

The roles grant read access to tenants and their objects. The platform does not bind the roles. Operators bind
them to the users who may run previews. The rules of the ClusterRole are derived from the tables of kinds in
`tenancy.base.kinds`, so they include new kinds automatically.
"""

from typing import Final

from tenancy.base.kinds import CONFIG_MAP, CRD, MANAGED_KINDS, OPTIONAL_KINDS
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.objects.roles import API_VERSION
from tenancy.platform.watcher_rights import Rules

PREVIEW_ROLE: Final = "tenancy-preview"
_READ: Final = ["get", "list"]
# The ClusterRole gives no access to these kinds. RBAC cannot restrict `list` by label, so the right to list
# ConfigMaps would cover all namespaces. ConfigMaps may contain confidential data. A preview works without
# them and reports that they are missing. The other kinds contain no confidential data.
_UNREADABLE_KINDS: Final = (CONFIG_MAP,)


def preview_rights() -> list[Manifest]:
    return [
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterRole",
            "metadata": {"name": PREVIEW_ROLE},
            "rules": _cluster_rules(),
        },
        {
            "apiVersion": API_VERSION,
            "kind": "Role",
            "metadata": {"name": PREVIEW_ROLE, "namespace": SYSTEM_NAMESPACE},
            "rules": [
                {
                    "apiGroups": [CONFIG_MAP.group],
                    "resources": [CONFIG_MAP.plural],
                    "verbs": ["get"],
                    "resourceNames": [PLANS_CONFIG_MAP],
                }
            ],
        },
    ]


def _cluster_rules() -> Rules:
    plurals: dict[str, list[str]] = {}
    for kind in (*MANAGED_KINDS, *OPTIONAL_KINDS, CRD):
        if kind not in _UNREADABLE_KINDS:
            plurals.setdefault(kind.group, []).append(kind.plural)
    return [
        {"apiGroups": list(GROUPS), "resources": ["tenants"], "verbs": _READ},
        *({"apiGroups": [group], "resources": names, "verbs": _READ} for group, names in plurals.items()),
    ]
