"""Generates the reference page of all fields in Tenants and in the plans file.

The page has one table for each Pydantic model. Plans and tenants share many settings. The page lists these
settings once. If several sections use the same nested model, its table is in the first of these sections.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from embedded.environment import ROOT
from tenancy.base.model import Model
from tenancy.plans import Plan
from tenancy.spec.session_config import SessionsConfig
from tenancy.spec.settings import Settings, TenantSettings
from tenancy.spec.tenant import TenantSpec
from tenancy.spec.tenant_status import TenantStatus

FIELDS_PAGE: Final = ROOT / "docs" / "reference" / "fields.md"
_INTRODUCTION: Final = """\
# Fields

This page lists all fields of a Tenant and of a plans file. A Tenant is the custom resource that defines a
tenant. A plans file contains [plans](../howto/plans.md), which are named sets of settings that many tenants
share. The watcher is the controller that applies Tenants.

`kubectl explain tn.spec` also prints the fields of a Tenant. The manifest
[`everything.yaml`](../../examples/more/everything.yaml) uses most of the fields.

In the column "type", a quantity is a Kubernetes quantity, such as `500m` or `1Gi`. In a map, all keys are
text.

This page is generated from the code by `./dev generate`. Do not edit it."""

Schema = Mapping[str, Any]

_TYPES: Final = {"string": "text", "integer": "number", "boolean": "true or false"}


@dataclass(frozen=True)
class Section:
    """A section of the page. It lists the fields of `model` whose names are in `fields`."""

    model: type[Model]
    fields: frozenset[str]
    title: str
    text: str

    def schema(self) -> dict[str, Any]:
        """The JSON schema of `model`. Its properties are only the fields of this section."""
        schema = self.model.model_json_schema(by_alias=True)
        shown = {field.alias for name, field in self.model.model_fields.items() if name in self.fields}
        shown_properties = {name: field for name, field in schema["properties"].items() if name in shown}
        return {**schema, "properties": shown_properties}


_SECTIONS: Final = (
    Section(
        TenantSpec,
        frozenset(TenantSpec.model_fields) - frozenset(Settings.model_fields),
        "Tenant: `spec`",
        'The spec can also contain all fields of the section "Settings" below. If the spec contains such a '
        "field, it overrides the setting of the plan.",
    ),
    Section(
        Settings,
        frozenset(Settings.model_fields),
        "Settings: in a tenant's `spec` and in a plan",
        "If a Tenant omits one of these fields, the value of its plan applies. If the plan omits the field "
        "too, the default applies. [Override a plan in a "
        "tenant](../howto/plans.md#override-a-plan-in-a-tenant) explains how the values of a Tenant and its "
        "plan are combined. Some fields, such as `registries`, are allow lists. An empty allow list allows "
        "no value.",
    ),
    Section(
        Plan,
        frozenset(Plan.__annotations__),
        "Plans file: `plans.NAME`",
        '`NAME` is the name of the plan. A plan can contain all fields of the section "Settings" above. It '
        "must contain these fields:",
    ),
    Section(
        SessionsConfig,
        frozenset(SessionsConfig.model_fields),
        "Plans file: `sessions`",
        "An AISession [runs an AI model for a tenant](../howto/sessions.md). These fields define the image "
        "and the command for each type of session. If the file does not define a type, AISessions of this "
        "type stay `Pending`.",
    ),
    Section(
        TenantStatus,
        frozenset(TenantStatus.model_fields),
        "Tenant: `status`",
        "The watcher writes the status.",
    ),
)


def fields_page() -> str:
    parts = [_INTRODUCTION]
    seen: set[str] = set()
    for section in _SECTIONS:
        schema = section.schema()
        definitions = schema["$defs"]
        if section.model is Settings:
            schema["properties"] = _with_defaults(schema["properties"])
        parts += [f"## {section.title}", section.text, _table(schema, definitions)]
        for name in _nested(schema["properties"].values(), definitions):
            if name not in seen:
                seen.add(name)
                parts += [
                    f"### {name}",
                    definitions[name]["description"],
                    _table(definitions[name], definitions),
                ]
    return "\n\n".join(parts) + "\n"


def _with_defaults(properties: Schema) -> dict[str, Any]:
    """A copy of the properties in the settings' schema, with the defaults of the settings.

    The default applies if neither the plan nor the tenant sets the setting.
    """
    defaults = TenantSettings.model_json_schema(by_alias=True)["properties"]
    required = {field.alias for name, field in Plan.model_fields.items() if field.is_required()}
    return {
        name: field if name in required else {**field, "default": defaults[name].get("default")}
        for name, field in properties.items()
    }


def _table(schema: Schema, definitions: Schema) -> str:
    rows = ["| field | type | default | meaning |", "|---|---|---|---|"]
    for name, field in schema["properties"].items():
        default = "required" if name in schema.get("required", ()) else _default(field)
        cells = (f"`{name}`", _type(field, definitions), default, field["description"])
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _default(field: Schema) -> str:
    default = field.get("default")
    if default in (None, [], {}, "") or isinstance(default, dict):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _type(field: Schema, definitions: Schema) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        target = definitions[name]
        return _type(target, definitions) if "enum" in target else f"[{name}](#{name.lower()})"
    if "x-kubernetes-int-or-string" in field:
        return "quantity"
    if "anyOf" in field:
        [non_null] = [option for option in field["anyOf"] if option != {"type": "null"}]
        return _type(non_null, definitions)
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field["type"] == "array":
        return f"list of {_type(field['items'], definitions)}"
    if field["type"] == "object":
        values = field.get("additionalProperties")
        return f"map of {_type(values, definitions)}" if values else "object"
    return _TYPES.get(field["type"], str(field["type"]))


def _nested(nodes: Iterable[Any], definitions: Schema) -> Iterator[str]:
    """Yield the names of the models that these nodes of a JSON schema refer to.

    If a model refers to other models, their names come after its name. A name can occur several times.
    """
    for node in nodes:
        if isinstance(node, list):
            yield from _nested(node, definitions)
        elif isinstance(node, dict):
            name = node.get("$ref", "").rpartition("/")[2]
            target = definitions.get(name, {})
            if "properties" in target:
                yield name
                yield from _nested(target["properties"].values(), definitions)
            yield from _nested(node.values(), definitions)
