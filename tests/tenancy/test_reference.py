"""The reference page of all fields is current, and every field has a description."""

from typing import Any

import pytest

from embedded.fields_page import FIELDS_PAGE, fields_page
from tenancy.base.model import Model
from tenancy.plans import Plan
from tenancy.spec.tenant import TenantSpec
from tenancy.spec.tenant_status import TenantStatus


def test_page_of_fields_is_current() -> None:
    assert FIELDS_PAGE.read_text(encoding="utf-8") == fields_page(), "run ./dev generate"


@pytest.mark.parametrize("model", [TenantSpec, Plan, TenantStatus])
def test_every_field_and_every_model_is_described(model: type[Model]) -> None:
    schema = model.model_json_schema(by_alias=True)
    models: dict[str, Any] = {model.__name__: schema, **schema.get("$defs", {})}
    undescribed = [
        f"{name}.{field}"
        for name, definition in models.items()
        for field, field_schema in definition.get("properties", {}).items()
        if not field_schema.get("description")
    ]
    undescribed += [
        name
        for name, definition in models.items()
        if "properties" in definition and "description" not in definition
    ]
    assert undescribed == []


def test_links_lead_to_a_table() -> None:
    text = fields_page()
    headings = {line.removeprefix("### ").lower() for line in text.splitlines() if line.startswith("### ")}
    links = {part.partition(")")[0] for part in text.split("](#")[1:]}
    assert links == headings


def test_what_both_can_set_stands_once() -> None:
    assert fields_page().count("| `podSecurity` |") == 1
    assert fields_page().count("| `plan` |") == 1
