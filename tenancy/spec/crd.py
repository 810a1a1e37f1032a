"""Generates the CRDs from the models: Tenant in both API groups, and AISession.

`./dev generate` writes the CRDs to `crds.yaml`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tenancy.base.fields import GROUP_PROBLEM, USER_PROBLEM
from tenancy.base.manifest import Manifest
from tenancy.base.names import (
    GROUP,
    GROUPS,
    NAMESPACE_MAX_LENGTH,
    TENANT_NAME_LENGTH_REASON,
    TENANT_NAME_MAX_LENGTH,
    VERSION,
    namespace_name,
)
from tenancy.base.patterns import DNS_NAME
from tenancy.spec.aisession import AISESSION_COLUMNS, AISESSION_RULES, AISessionSpec, AISessionStatus
from tenancy.spec.crd_schema import structural_schema
from tenancy.spec.tenant import TenantSpec
from tenancy.spec.tenant_status import TenantStatus

CRD_FILE: Final = Path(__file__).with_name("crds.yaml")
# `kubectl get CATEGORY` lists the objects of all kinds in the category.
CATEGORY: Final = "tenancy"

# The maximum length of `<tenant>` plus the length of `<name>` in the namespace name `tenant-<tenant>-<name>`.
_JOINED_MAX_LENGTH = NAMESPACE_MAX_LENGTH - len(namespace_name("", "")) - 1

# These rules are on the whole object, because a rule on the spec can't read `metadata.name`.
_OBJECT_RULES: Final = [
    {
        "rule": "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        "message": "metadata.name: must be a DNS label (no dots): it becomes part of namespace names",
    },
    {
        "rule": f"size(self.metadata.name) <= {TENANT_NAME_MAX_LENGTH}",
        "message": f"metadata.name: {TENANT_NAME_LENGTH_REASON}",
    },
    {
        "rule": "!has(self.spec) || !has(self.spec.namespaces) || self.spec.namespaces.all(n, "
        f"size(self.metadata.name) + size(n.name) <= {_JOINED_MAX_LENGTH})",
        "message": "spec.namespaces: tenant-<tenant>-<name> must be at most 63 characters",
        "fieldPath": ".spec.namespaces",
    },
    {
        "rule": "!has(self.spec) || !has(self.spec.name) || "
        f"size(self.metadata.name) + size(self.spec.name) <= {_JOINED_MAX_LENGTH}",
        "message": "spec.name: tenant-<tenant>-<name> must be at most 63 characters",
        "fieldPath": ".spec.name",
    },
]
_SPEC_RULES: Final = [
    {
        "rule": "self.adopt || !has(self.namespaces) || self.namespaces.all(n, !has(n.existing))",
        "message": "must be true, because an entry of namespaces sets existing",
        "fieldPath": ".adopt",
    },
]
_ACCESS_RULES: Final = [
    {
        "rule": "!has(self.__namespace__) || self.kind == 'ServiceAccount'",
        "message": "namespace is allowed only for kind ServiceAccount",
        "fieldPath": ".namespace",
    },
    {
        "rule": f"self.kind != 'ServiceAccount' || self.name.matches('^{DNS_NAME}$')".replace("\\", "\\\\"),
        "message": "must be the name of a ServiceAccount; give its namespace in the field namespace",
        "fieldPath": ".name",
    },
    {
        "rule": "self.kind != 'Group' || !self.name.startsWith('system:')",
        "message": GROUP_PROBLEM,
        "fieldPath": ".name",
    },
    {
        "rule": "self.kind != 'User' || self.name != 'system:anonymous'",
        "message": USER_PROBLEM,
        "fieldPath": ".name",
    },
]

_COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "Plan", "type": "string", "jsonPath": ".spec.plan"},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Namespaces", "type": "integer", "jsonPath": ".status.namespaceCount"},
    {
        "name": "Ready",
        "type": "string",
        "jsonPath": '.status.conditions[?(@.type=="Ready")].reason',
        "priority": 1,
    },
    {"name": "Stack", "type": "string", "jsonPath": ".status.stack", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def crds() -> list[Manifest]:
    """All CRDs of the platform."""
    return [*tenant_crds(), aisession_crd()]


def tenant_crds() -> list[Manifest]:
    """The Tenant CRDs, one for each API group. Both have the same schema."""
    return [_tenant_crd(group) for group in GROUPS]


def crds_text() -> str:
    """The content of `crds.yaml`."""
    header = "# Generated from the models by `./dev generate`; do not edit.\n"
    return header + yaml.safe_dump_all(crds(), sort_keys=False, width=110)


def aisession_crd() -> Manifest:
    spec = structural_schema(AISessionSpec)
    # The API server sets the defaults of the fields in `resources` only if `resources` exists. So the default
    # of `resources` is `{}`.
    spec["properties"]["resources"]["default"] = {}
    schema = _object_schema(
        "A task that an AI model performs for a tenant. A Job in one of the tenant's namespaces runs the "
        "task.",
        spec,
        structural_schema(AISessionStatus),
        AISESSION_RULES,
    )
    schema["required"] = ["spec"]
    names = {"kind": "AISession", "plural": "aisessions", "singular": "aisession", "shortNames": ["ais"]}
    return _crd(GROUP, "Namespaced", names, schema, AISESSION_COLUMNS)


def _tenant_crd(group: str) -> Manifest:
    schema = _object_schema(
        "A tenant of the platform: its namespaces, access, quotas and network isolation.",
        _spec_schema(),
        structural_schema(TenantStatus),
        _OBJECT_RULES,
    )
    names: Manifest = {"kind": "Tenant", "plural": "tenants", "singular": "tenant"}
    if group == GROUP:
        names["shortNames"] = ["tn"]
    return _crd(group, "Cluster", names, schema, _COLUMNS)


def _object_schema(
    description: str, spec: Manifest, status: Manifest, rules: Sequence[Mapping[str, str]]
) -> Manifest:
    return {
        "type": "object",
        "description": description,
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        "x-kubernetes-validations": list(rules),
    }


def _crd(
    group: str, scope: str, names: Manifest, schema: Manifest, columns: Sequence[Mapping[str, Any]]
) -> Manifest:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {**names, "listKind": f"{names['kind']}List", "categories": [CATEGORY]},
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": list(columns),
                }
            ],
        },
    }


def _spec_schema() -> Manifest:
    schema = structural_schema(TenantSpec)
    # If server-side apply removes the last field of the spec, it removes the spec too. With this default, the
    # API server creates an empty spec and sets the defaults of its fields.
    schema["default"] = {}
    schema["x-kubernetes-validations"] = _SPEC_RULES
    schema["properties"]["access"]["items"]["x-kubernetes-validations"] = _ACCESS_RULES
    return schema
