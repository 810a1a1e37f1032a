"""A model's schema in the shape Kubernetes takes in a CRD.

It wants a structural one: no references, no titles, and none of the keywords pydantic uses for "may be
absent". Called by `crd`.
"""

from typing import Any

from tenancy.base.manifest import Manifest
from tenancy.base.model import Model


def structural_schema(model: type[Model]) -> Manifest:
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
