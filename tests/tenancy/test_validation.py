"""Error messages about invalid fields use the terms of this product, not of pydantic.

All errors are reported at once.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from tenancy.base.errors import InvalidSpec, PlansError, Rejection
from tenancy.base.names import TENANT_NAME_MAX_LENGTH
from tenancy.base.validation import validation_problems
from tenancy.decision import Facts, decide
from tenancy.plans import Plans, read_plans
from tenancy.platform.settings import PlatformSettings
from tenancy.spec.aisession import AISessionSpec
from tenancy.spec.extra_kinds import SCHEMAS
from tenancy.spec.tenant import TenantSpec, tenant_from_manifest

MODELS: list[type[BaseModel]] = [TenantSpec, Plans, AISessionSpec, PlatformSettings, *SCHEMAS.values()]
# For each field, at least one of these values is invalid.
VALUES: list[Any] = [
    *(None, True, 5, -1, 1.5, 10**30, float("nan"), "", "A b\n", "*", "1e", "x" * 600),
    *([], [5], ["x", "x"], ["*"] * 300, {}, {"A b": "*"}, {"a": 5}, {str(n): "1" for n in range(300)}),
]
# Phrases from pydantic's messages, the start of a regular expression, and the text for unknown errors.
FOREIGN = re.compile(
    r"Input should|Value error|Assertion|Field required|Extra inputs|(String|List|Tuple|Dictionary|Mapping) "
    r"should|after validation|unable to|\^[(\[]|is not valid$"
)
RULE = {"apiGroups": ["kafka.example"], "resources": ["kafkas"], "verbs": ["get"]}
# The error types that the models above can produce.
TYPES = {
    *("bool_parsing", "bool_type", "dict_type", "enum", "extra_forbidden", "finite_number"),
    *("greater_than_equal", "int_from_float", "int_parsing", "int_type", "less_than_equal", "list_type"),
    *("literal_error", "missing", "model_type", "none_required", "problem"),
    *("string_pattern_mismatch", "string_too_long", "string_too_short", "string_type", "too_long"),
    *("too_short", "tuple_type", "value_error"),
}


def placements(schema: Any, definitions: Any, depth: int = 0) -> Iterator[Any]:
    """For each field of the schema, yield a function.

    The function creates a document from a value. The document contains only this field.
    """
    yield lambda value: value
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    for option in schema.get("anyOf", ()):
        yield from placements(option, definitions, depth)
    children = [(name, child) for name, child in schema.get("properties", {}).items()]
    if isinstance(schema.get("additionalProperties"), dict):
        children += [("a", schema["additionalProperties"]), ("A b", schema["additionalProperties"])]
    for name, child in (*children, ("unknown", {})) if depth < 8 else ():
        for place in placements(child, definitions, depth + 1):
            yield lambda value, name=name, place=place: {name: place(value)}
    if "items" in schema:
        for place in placements(schema["items"], definitions, depth + 1):
            yield lambda value, place=place: [place(value)]


def errors_of(model: type[BaseModel]) -> Iterator[ValidationError]:
    schema = model.model_json_schema(by_alias=True)
    for place in placements(schema, schema.get("$defs", {})):
        for value in VALUES:
            try:
                model.model_validate(place(value))
            except ValidationError as error:
                yield error
            except PlansError:
                pass  # The setting `plans` is a whole plans file.


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_message_has_words_of_the_library(model: type[BaseModel]) -> None:
    texts = {problem.text for error in errors_of(model) for problem in validation_problems(error)}
    assert len(texts) > 3
    assert [text for text in texts if FOREIGN.search(text)] == []


def test_all_known_types_of_errors_occur() -> None:
    errors = (error for model in MODELS for error in errors_of(model))
    assert {detail["type"] for error in errors for detail in error.errors()} == TYPES


def test_all_errors_of_a_spec_are_reported_at_once() -> None:
    spec = {
        "plan": "none-such",
        "paused": "maybe",
        "adminUsers": ["a", "b", "a", "b"],
        "namespaces": [{"name": "dev"}, {"name": "n" * 60}],
        "access": [{"kind": "User", "name": "x", "namespaces": ["prod", "dev", "qa"]}],
    }
    with pytest.raises(InvalidSpec) as error:
        decide({"metadata": {"name": "acme"}, "spec": spec}, Facts(read_plans()))
    assert [rejection.field for rejection in error.value.each] == [
        "spec.adminUsers[2]",
        "spec.adminUsers[3]",
        "spec.paused",
        "spec.access[0].namespaces[0]",
        "spec.access[0].namespaces[2]",
        "spec.namespaces[1].name",
        "spec.plan",
    ]
    assert "; spec.paused: must be true or false, not 'maybe'; " in str(error.value)


def test_checks_that_need_the_plan_and_the_cluster_are_reported_at_once() -> None:
    spec = {"namespaces": [{"name": f"n{number}"} for number in range(6)], "roles": {"viewer": [RULE, RULE]}}
    holders = {"tenant-acme-n1": "other", "tenant-acme-n4": "other"}
    with pytest.raises(Rejection) as error:
        decide({"metadata": {"name": "acme"}, "spec": spec}, Facts(read_plans(), holders=holders))
    assert [(rejection.reason, rejection.field) for rejection in error.value.each] == [
        ("NamespaceTaken", "spec.namespaces[1].name"),
        ("NamespaceTaken", "spec.namespaces[4].name"),
        ("InvalidSpec", "spec.namespaces"),
        ("InvalidSpec", "spec.roles.viewer[0].resources"),
        ("InvalidSpec", "spec.roles.viewer[1].resources"),
    ]


@pytest.mark.parametrize("namespaces", [[], [{"name": "dev"}]])
def test_long_name_of_a_tenant_is_rejected_with_the_real_limit(namespaces: list[Any]) -> None:
    with pytest.raises(InvalidSpec) as error:
        tenant_from_manifest({"metadata": {"name": "t" * 71}, "spec": {"namespaces": namespaces}})
    assert error.value.text == (
        "metadata.name: has 71 characters, but must have at most 56 characters, because the namespace name "
        "tenant-<tenant> can have at most 63"
    )
    tenant_from_manifest({"metadata": {"name": "t" * TENANT_NAME_MAX_LENGTH}})


def test_message_lists_ten_problems_and_counts_the_others() -> None:
    with pytest.raises(InvalidSpec) as error:
        tenant_from_manifest({"metadata": {"name": "acme"}, "spec": {"adminUsers": [""] * 12}})
    assert len(error.value.each) == 12
    assert str(error.value).endswith("spec.adminUsers[9]: must have at least 1 character (and 2 more)")
