"""Quantities are parsed and written in the same way as in the API server."""

import pytest

from tenancy.base.quantity import canonical_quantity, quantity_value

CANONICAL = {
    "1000m": "1",
    "0.5": "500m",
    "1024Mi": "1Gi",
    "1.5Gi": "1536Mi",
    "1e3": "1k",
    "2E": "2E",
    "100k": "100k",
    "0": "0",
    "0Gi": "0",
    "+1": "1",
    ".5": "500m",
    "1.": "1",
    "1000Ki": "1000Ki",
    "0.9765625Ki": "1k",
    "0.5Ki": "512",
    "0.1Mi": "104857600m",
}


@pytest.mark.parametrize("text", CANONICAL)
def test_canonical_form_is_the_api_servers(text: str) -> None:
    assert canonical_quantity(text) == CANONICAL[text]
    assert quantity_value(canonical_quantity(text)) == quantity_value(text)


@pytest.mark.parametrize("text", ["", "lots", "1 Gi", "1gi", "1K", "Gi", "1e", "--1", "1.2.3", "1Gi ", "١"])
def test_what_is_no_quantity_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity"):
        quantity_value(text)


def test_huge_exponent_is_refused() -> None:
    with pytest.raises(ValueError, match="outside the range"):
        quantity_value("1e1000000")


def test_finer_than_nano_is_refused() -> None:
    with pytest.raises(ValueError, match="more precise"):
        canonical_quantity("0.1n")
