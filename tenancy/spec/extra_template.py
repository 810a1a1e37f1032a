"""Templates of extra objects, which plans and tenants define in `extraResources`.

The type `ExtraResource` checks each template when the spec or the plans file is parsed. `filled_template`
replaces the placeholders later, for each namespace.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, WithJsonSchema

from tenancy.base.errors import InvalidSpec
from tenancy.base.kinds import EXTRA_KINDS
from tenancy.base.manifest import Manifest
from tenancy.base.validation import FieldPath, raise_problems
from tenancy.spec.extra_kinds import SCHEMAS

# The maximum size of a template. The API server accepts at most this much data in a ConfigMap.
_MAX_BYTES: Final = 1024 * 1024
_PLACEHOLDER_NAMES: Final = ("name", "namespace", "purpose", "plan")
# Also matches a placeholder without the closing brace, so that such a placeholder is rejected.
_PLACEHOLDER = re.compile(r"\$\{tenant\.[^}]*\}?")
_KNOWN_PLACEHOLDER = re.compile(rf"\$\{{tenant\.({'|'.join(_PLACEHOLDER_NAMES)}|labels\[[^\]]+\])\}}")


def filled_template(node: Any, values: Mapping[str, str], field: str) -> Any:
    """A copy of `node` with the placeholders replaced. `node` is a template or a part of a template.

    The keys of `values` are whole placeholders, such as `${tenant.name}`. `field` is the field path of
    `node`. Raises InvalidSpec if a placeholder has no value.
    """
    if isinstance(node, Mapping):
        return {
            filled_template(key, values, field): filled_template(value, values, f"{field}.{key}")
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [filled_template(item, values, f"{field}[{index}]") for index, item in enumerate(node)]
    if not isinstance(node, str):
        return node

    def replacement(match: re.Match[str]) -> str:
        placeholder = match[0]
        if placeholder not in values:
            namespace = values["${tenant.namespace}"]
            raise InvalidSpec(
                field, f"namespace {namespace!r} has no value for {placeholder}; use another placeholder"
            )
        return values[placeholder]

    return _PLACEHOLDER.sub(replacement, node)


def _checked_template(manifest: Manifest) -> Manifest:
    """A copy of the template in which the API server's defaults are set.

    Raises ValidationError or ValueError if the template is not allowed.
    """
    kinds = {(kind.api_version, kind.kind): kind for kind in EXTRA_KINDS}
    api_version, kind_name = str(manifest.get("apiVersion")), str(manifest.get("kind"))
    if (api_version, kind_name) not in kinds:
        allowed = ", ".join(f"{kind.kind} ({kind.api_version})" for kind in EXTRA_KINDS)
        is_version = kind_name in {kind.kind for kind in EXTRA_KINDS}
        field, value = ("apiVersion", api_version) if is_version else ("kind", kind_name)
        raise_problems([((field,), f"{value!r} is not allowed; allowed kinds: {allowed}")])
    model = SCHEMAS[kinds[api_version, kind_name]].model_validate(manifest)
    template: Manifest = model.model_dump(by_alias=True, exclude_none=True)
    if (size := len(json.dumps(template, ensure_ascii=False).encode())) > _MAX_BYTES:
        raise ValueError(f"has {size} bytes, but must have at most {_MAX_BYTES}")
    known = ", ".join(f"${{tenant.{name}}}" for name in (*_PLACEHOLDER_NAMES, "labels[KEY]"))
    raise_problems(
        (path, f"unknown placeholder {placeholder}; known: {known}")
        for path, text in _texts(template, ())
        for placeholder in _PLACEHOLDER.findall(text)
        if not _KNOWN_PLACEHOLDER.fullmatch(placeholder)
    )
    return template


def _texts(node: Any, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """All strings in `node`, including the keys of mappings, each with its path."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _texts(key, (*path, key))
            yield from _texts(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _texts(value, (*path, index))
    elif isinstance(node, str):
        yield path, node


def _check_names_are_unique(templates: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    keys = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in templates]
    raise_problems(
        ((index, "metadata", "name"), f"{kind} {name!r} is given twice")
        for index, (kind, name) in enumerate(keys)
        if (kind, name) in keys[:index]
    )
    return templates


ExtraResource = Annotated[
    Manifest,
    AfterValidator(_checked_template),
    WithJsonSchema(
        {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "required": ["apiVersion", "kind", "metadata"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string", "enum": [kind.kind for kind in EXTRA_KINDS]},
                "metadata": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}},
                },
            },
        }
    ),
]
ExtraResources = Annotated[
    tuple[ExtraResource, ...], Field(max_length=32), AfterValidator(_check_names_are_unique)
]
