"""The CRDs of both API groups, generated from the models. `./dev generate` writes them to `crds.yaml`.

Kubernetes wants a structural schema: no references, no titles, and none of the
keywords pydantic uses for "may be absent".
"""

from pathlib import Path
from typing import Any, Final

import yaml

from tenancy.fields import DNS_NAME
from tenancy.manifest import Manifest
from tenancy.names import GROUP, GROUPS, NAMESPACE_MAX_LENGTH, VERSION, crd_name, namespace_name
from tenancy.status import TenantStatus
from tenancy.tenant import TenantSpec

CRD_FILE: Final = Path(__file__).with_name("crds.yaml")

_NAME_LENGTH = NAMESPACE_MAX_LENGTH - len(namespace_name(""))
_JOINED_LENGTH = NAMESPACE_MAX_LENGTH - len(namespace_name("", "")) - 1

# On the whole object: a rule sees `metadata.name` only from there.
_OBJECT_RULES: Final = [
    {
        "rule": "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        "message": "metadata.name: must be a DNS label (no dots): it becomes part of namespace names",
    },
    {
        "rule": f"size(self.metadata.name) <= {_NAME_LENGTH}",
        "message": f"metadata.name: must be at most {_NAME_LENGTH} characters, so that its namespace fits",
    },
    {
        "rule": "!has(self.spec) || !has(self.spec.namespaces) || self.spec.namespaces.all(n, "
        f"size(self.metadata.name) + size(n.name) <= {_JOINED_LENGTH})",
        "message": "spec.namespaces: tenant-<tenant>-<name> must be at most 63 characters",
        "fieldPath": ".spec.namespaces",
    },
    {
        "rule": "!has(self.spec) || !has(self.spec.name) || "
        f"size(self.metadata.name) + size(self.spec.name) <= {_JOINED_LENGTH}",
        "message": "spec.name: tenant-<tenant>-<name> must be at most 63 characters",
        "fieldPath": ".spec.name",
    },
]
_ACCESS_RULES: Final = [
    {
        "rule": "!has(self.__namespace__) || self.kind == 'ServiceAccount'",
        "message": "namespace is only for a ServiceAccount",
        "fieldPath": ".namespace",
    },
    {
        "rule": f"self.kind != 'ServiceAccount' || self.name.matches('^{DNS_NAME}$')".replace("\\", "\\\\"),
        "message": "must be a ServiceAccount's name; its namespace is a field of its own",
        "fieldPath": ".name",
    },
]

_COLUMNS: Final = [
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
    return [_crd(group) for group in GROUPS]


def crds_text() -> str:
    header = "# Generated from the models by `./dev generate`; do not edit.\n"
    return header + yaml.safe_dump_all(crds(), sort_keys=False, width=110)


def _crd(group: str) -> Manifest:
    schema = {
        "type": "object",
        "description": "A tenant of the platform: its namespaces and everything in them that keeps it apart.",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _spec_schema(),
            "status": _schema(TenantStatus.model_json_schema(by_alias=True)),
        },
        "x-kubernetes-validations": _OBJECT_RULES,
    }
    names = {"kind": "Tenant", "listKind": "TenantList", "plural": "tenants", "singular": "tenant"}
    if group == GROUP:
        names["shortNames"] = ["tn"]  # type: ignore[assignment]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": crd_name(group)},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": names,
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _COLUMNS,
                }
            ],
        },
    }


def _spec_schema() -> Manifest:
    schema = _schema(TenantSpec.model_json_schema(by_alias=True))
    # Server-side apply drops a spec that has lost its last field; defaults must hold all the same.
    schema["default"] = {}
    schema["properties"]["access"]["items"]["x-kubernetes-validations"] = _ACCESS_RULES
    return schema


def _schema(document: dict[str, Any]) -> Manifest:
    """A pydantic schema in the shape Kubernetes takes."""
    definitions = document.pop("$defs", {})

    def structural(node: Any) -> Any:
        if isinstance(node, list):
            return [structural(item) for item in node]
        if not isinstance(node, dict):
            return node
        node = dict(node)
        if "$ref" in node:
            target = definitions[node.pop("$ref").rsplit("/", 1)[-1]]
            node = {**target, **node}
        node.pop("title", None)
        options = node.get("anyOf", [])
        if {"type": "null"} in options:
            [kept] = [option for option in options if option != {"type": "null"}]
            del node["anyOf"]
            return structural({**kept, **node})
        if node.get("default", "") in (None, [], {}, ()) or isinstance(node.get("default"), dict):
            del node["default"]
        # Unknown fields are the API server's to refuse: closed objects are not structural.
        if node.get("additionalProperties") is False:
            del node["additionalProperties"]
        if "properties" in node:
            node["properties"] = {name: structural(value) for name, value in node["properties"].items()}
            return {key: value if key == "properties" else structural(value) for key, value in node.items()}
        return {key: structural(value) for key, value in node.items()}

    result: Manifest = structural(document)
    return result
