"""The names of namespaces and stacks, and the encoding of label values."""

import re

import pytest

from tenancy.base.labels import label_value
from tenancy.base.names import namespace_name, stack_name, tenant_of_stack

LEGAL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


@pytest.mark.parametrize("text", ["joe", "a-b_c.d", "A1", "", "x" * 63])
def test_legal_label_value_stays_as_it_is(text: str) -> None:
    assert label_value(text) == text


@pytest.mark.parametrize(
    "text", ["joe@corp.example", "a b", "-x", "ü", "日本", "x" * 64, "a/b", "x" * 300, "a-"]
)
def test_other_text_is_encoded_and_never_dropped(text: str) -> None:
    value = label_value(text)
    assert value
    assert LEGAL.fullmatch(value)


def test_encoded_values_of_different_texts_differ() -> None:
    texts = ["a b", "a  b", "a@b", "a-b", "x" * 64, "x" * 65]
    assert len({label_value(text) for text in texts}) == len(texts)


def test_namespace_is_named_after_tenant_and_part() -> None:
    assert namespace_name("acme") == "tenant-acme"
    assert namespace_name("acme", "dev") == "tenant-acme-dev"


def test_stack_name_leads_back_to_its_tenant() -> None:
    assert tenant_of_stack(stack_name("a-b")) == "a-b"
    with pytest.raises(ValueError, match="tenant-NAME"):
        tenant_of_stack("platform")
