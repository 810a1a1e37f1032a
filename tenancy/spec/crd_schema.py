"""Converts a model's JSON schema to a structural schema, the form that CRDs require.

The conversion resolves each `$ref` and removes each `title`. For an optional field, pydantic generates an
`anyOf` of the field's type and `null`. The conversion keeps only the field's type.
"""

from typing import Any

from tenancy.base.manifest import Manifest
from tenancy.base.model import Model


def structural_schema(model: type[Model]) -> Manifest:
    """The structural schema of a model, for `openAPIV3Schema` of a CRD."""
    document = model.model_json_schema(by_alias=True)
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
            [value_schema] = [option for option in options if option != {"type": "null"}]
            del node["anyOf"]
            return structural({**value_schema, **node})
        if node.get("default", "") in (None, [], {}, ()) or isinstance(node.get("default"), dict):
            del node["default"]
        # A structural schema can't have `additionalProperties: false`. The API server prunes or rejects
        # unknown fields.
        if node.get("additionalProperties") is False:
            del node["additionalProperties"]
        if "properties" in node:
            node["properties"] = {name: structural(value) for name, value in node["properties"].items()}
            return {key: value if key == "properties" else structural(value) for key, value in node.items()}
        return {key: structural(value) for key, value in node.items()}

    schema: Manifest = structural(document)
    return schema
