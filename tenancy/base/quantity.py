"""Kubernetes quantities: parsing, and the canonical form that the API server stores.

Desired objects use the canonical form. With any other form, the desired object would differ from the live
object, and the difference would be reported as drift.
"""

import re
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<number>\d+(\.\d*)?|\.\d+)(?P<suffix>[a-zA-Z]*|[eE][+-]?\d+)", re.ASCII
)
# Exponents of 10, by suffix.
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
# The API server reduces larger values to this one.
QUANTITY_MAX: Final = 2**63 - 1
# Exponents of 1024, by suffix.
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def quantity_value(text: str) -> Decimal:
    """The numeric value of a quantity. Raises ValueError if the text is not a quantity."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a Kubernetes quantity such as 500m, 2 or 1Gi")
    number, suffix = Decimal(match["sign"] + match["number"]), match["suffix"]
    try:
        if suffix in _BINARY:
            return number * Decimal(1024) ** _BINARY[suffix]
        if suffix in _DECIMAL:
            return number.scaleb(_DECIMAL[suffix])
        if suffix[0] in "eE" and suffix[1:]:
            return number.scaleb(int(suffix[1:]))
    except ArithmeticError:
        raise ValueError(f"{text!r} is outside the range of a Kubernetes quantity") from None
    raise ValueError(f"{text!r} is not a Kubernetes quantity: unknown suffix {suffix!r}")


def canonical_quantity(text: str) -> str:
    """The quantity in the form that the API server stores.

    The result is an integer with the largest suffix that represents the value exactly. For example, `1.5`
    becomes `1500m`.

    Raises ValueError if the text is not a quantity, or is more precise than 1n.
    """
    value = quantity_value(text)
    if value == 0:
        return "0"
    # The API server stores binary values below 1Ki with decimal suffixes.
    if text[-1] == "i" and value == value.to_integral_value() and abs(value) >= 1024:
        for suffix in reversed(_BINARY):
            scaled = value / 1024 ** _BINARY[suffix]
            if scaled == scaled.to_integral_value():
                return f"{int(scaled)}{suffix}"
        return str(int(value))
    for suffix, exponent in reversed(_DECIMAL.items()):
        scaled = value.scaleb(-exponent)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{suffix}"
    raise ValueError(f"{text!r} is more precise than 1n, the smallest unit of a quantity")


def _text_from_number(value: Any) -> Any:
    # In YAML, `cpu: 2` is a number. Kubernetes accepts it.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) > QUANTITY_MAX:
        # Python does not convert integers with more than 4300 digits to text.
        raise ValueError("must be between 0 and 2^63-1")
    return str(value) if is_number else value


def _checked_quantity(text: str) -> str:
    try:
        value = quantity_value(text)
        if not 0 <= value <= QUANTITY_MAX:
            raise ValueError(f"{text!r} must be between 0 and 2^63-1")
        return canonical_quantity(text)
    except ArithmeticError:
        raise ValueError(f"{text!r} is outside the range of a Kubernetes quantity") from None


Quantity = Annotated[
    str,
    BeforeValidator(_text_from_number),
    AfterValidator(_checked_quantity),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
            "maxLength": 64,
            "x-kubernetes-validations": [
                {
                    "rule": "type(self) == int ? self >= 0 "
                    ": isQuantity(self) && !quantity(self).isLessThan(quantity('0')) "
                    f"&& quantity(self).isLessThan(quantity('{QUANTITY_MAX}'))",
                    "message": "must be a Kubernetes quantity between 0 and 2^63-1, such as 500m, 2 or 1Gi",
                }
            ],
        }
    ),
]
