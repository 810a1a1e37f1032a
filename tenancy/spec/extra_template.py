"""An extra object as plans and tenants write it: what it may be, and where the tenant's facts go.

`settings` checks each one by `ExtraResource`, so that a plans file is refused at load; `extra_objects` fills
it in.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError

from tenancy.base.errors import InvalidSpec
from tenancy.base.kinds import EXTRA_KINDS
from tenancy.base.manifest import Manifest
from tenancy.spec.extra_schemas import FORMS

FACTS: Final = ("name", "namespace", "purpose", "plan")
# Also one that is not closed: better refused than left in an object.
_PLACEHOLDER = re.compile(r"\$\{tenant\.[^}]*\}?")
_KNOWN = re.compile(rf"\$\{{tenant\.({'|'.join(FACTS)}|labels\[[^\]]+\])\}}")

Path = tuple[str | int, ...]


def filled(node: Any, facts: Mapping[str, str], field: str) -> Any:
    """A part of a template with its placeholders filled in. `field` is its path, for the error."""
    if isinstance(node, Mapping):
        return {
            filled(key, facts, field): filled(value, facts, f"{field}.{key}") for key, value in node.items()
        }
    if isinstance(node, list):
        return [filled(value, facts, f"{field}[{index}]") for index, value in enumerate(node)]
    if not isinstance(node, str):
        return node

    def fact(found: re.Match[str]) -> str:
        if found[0] not in facts:
            raise InvalidSpec(field, f"namespace {facts['${tenant.namespace}']!r} has nothing for {found[0]}")
        return facts[found[0]]

    return _PLACEHOLDER.sub(fact, node)


def _checked(manifest: Manifest) -> Manifest:
    kinds = {(kind.api_version, kind.kind): kind for kind in EXTRA_KINDS}
    given = (str(manifest.get("apiVersion")), str(manifest.get("kind")))
    if given not in kinds:
        allowed = ", ".join(f"{kind.kind} ({kind.api_version})" for kind in EXTRA_KINDS)
        is_version = given[1] in {kind.kind for kind in EXTRA_KINDS}
        field, value = ("apiVersion", given[0]) if is_version else ("kind", given[1])
        raise _fault((field,), f"{value!r} is not allowed; allowed are {allowed}")
    form = FORMS[kinds[given]].model_validate(manifest)
    checked: Manifest = form.model_dump(by_alias=True, exclude_none=True)
    for path, text in _texts(checked, ()):
        for placeholder in _PLACEHOLDER.findall(text):
            if not _KNOWN.fullmatch(placeholder):
                known = ", ".join(f"${{tenant.{fact}}}" for fact in (*FACTS, "labels[KEY]"))
                raise _fault(path, f"there is no {placeholder}; known: {known}")
    return checked


def _texts(node: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every text in it, keys too, and where it stands."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _texts(key, (*path, key))
            yield from _texts(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _texts(value, (*path, index))
    elif isinstance(node, str):
        yield path, node


def _names_differ(extras: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    seen = set()
    for index, manifest in enumerate(extras):
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        if (kind, name) in seen:
            raise _fault((index, "metadata", "name"), f"{kind} {name!r} is given twice")
        seen.add((kind, name))
    return extras


def _fault(path: Path, problem: str) -> ValidationError:
    """A fault at a place further in than the validator that finds it."""
    kind = PydanticCustomError("extra_resource", "{problem}", {"problem": problem})
    return ValidationError.from_exception_data(
        "ExtraResource", [InitErrorDetails(type=kind, loc=path, input=None)]
    )


ExtraResource = Annotated[
    Manifest,
    AfterValidator(_checked),
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
ExtraResources = Annotated[tuple[ExtraResource, ...], Field(max_length=32), AfterValidator(_names_differ)]
