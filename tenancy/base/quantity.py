"""Kubernetes quantities: checked as the API server checks them, written as it writes them.

Used by the models. An object we send must read back the same, or every comparison
with the live one would see drift.
"""

import re
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

_FORM = re.compile(r"(?P<sign>[+-]?)(?P<number>\d+(\.\d*)?|\.\d+)(?P<suffix>[a-zA-Z]*|[eE][+-]?\d+)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
# The API server cuts what is larger.
QUANTITY_MAX: Final = 2**63 - 1
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def quantity_value(text: str) -> Decimal:
    """The number a quantity stands for; ValueError where it is none."""
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"{text!r} is not a Kubernetes quantity such as 500m, 2 or 1Gi")
    number, suffix = Decimal(form["sign"] + form["number"]), form["suffix"]
    if suffix in _BINARY:
        return number * Decimal(1024) ** _BINARY[suffix]
    if suffix in _DECIMAL:
        return number.scaleb(_DECIMAL[suffix])
    if suffix[0] in "eE" and suffix[1:]:
        return number.scaleb(int(suffix[1:]))
    raise ValueError(f"{text!r} is not a Kubernetes quantity: unknown suffix {suffix!r}")


def canonical_quantity(text: str) -> str:
    """The form the API server stores: no fraction, the largest suffix that loses nothing."""
    value = quantity_value(text)
    if value == 0:
        return "0"
    if text[-1] == "i" and value == value.to_integral_value():
        for suffix in reversed(_BINARY):
            scaled = value / 1024 ** _BINARY[suffix]
            if scaled == scaled.to_integral_value():
                return f"{int(scaled)}{suffix}"
        return str(int(value))
    for suffix, exponent in reversed(_DECIMAL.items()):
        scaled = value.scaleb(-exponent)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{suffix}"
    raise ValueError(f"{text!r} is finer than a Kubernetes quantity can be")


def _text(value: Any) -> Any:
    # YAML reads `cpu: 2` as a number, and Kubernetes takes it.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def _checked(text: str) -> str:
    try:
        value = quantity_value(text)
        if not 0 <= value <= QUANTITY_MAX:
            raise ValueError(f"{text!r} must be between 0 and 2^63-1")
        return canonical_quantity(text)
    except ArithmeticError:
        raise ValueError(f"{text!r} is out of a Kubernetes quantity's range") from None


Quantity = Annotated[
    str,
    BeforeValidator(_text),
    AfterValidator(_checked),
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
