"""The rights of whoever previews, such as a CI job: to read what tenants are made of, and nothing more.

Part of the platform's manifests. They are bound to nobody: who may preview is the operator's to say. The
rules follow the tables of kinds, so a new kind is readable by its row.
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
# To list the tenants' own by their label is to list everybody's. ConfigMaps are where people keep what is
# nobody else's business, so a preview does without them, and says so. The other kinds hold no content.
_NOT_READ: Final = (CONFIG_MAP,)


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
        if kind not in _NOT_READ:
            plurals.setdefault(kind.group, []).append(kind.plural)
    return [
        {"apiGroups": list(GROUPS), "resources": ["tenants"], "verbs": _READ},
        *({"apiGroups": [group], "resources": names, "verbs": _READ} for group, names in plurals.items()),
    ]
