"""Raises validation errors, and replaces the messages of pydantic with messages for users.

A validator can find several problems in one value, but it can raise only one ValueError. `raise_problems`
reports all problems, each with the path of its field.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from tenancy.base.errors import joined_problems
from tenancy.base.patterns import PATTERN_TEXTS

FieldPath = tuple[str | int, ...]

_PROBLEM: Final = "problem"
_UNKNOWN_FIELD: Final = "extra_forbidden"
# If a key of a mapping is invalid, pydantic appends this text to the path of the key.
_KEY_STEP: Final = "[key]"
_MAX_VALUE_LENGTH: Final = 80
# The maximum number of nested levels in a spec. Manifests of Kubernetes objects have fewer levels. Pulumi's
# gRPC messages can have about 30 levels.
_MAX_DEPTH: Final = 25

_STRING, _INTEGER, _BOOLEAN, _LIST, _MAPPING = (
    "a string",
    "a whole number",
    "true or false",
    "a list",
    "a mapping",
)
_EXPECTED_TYPES: Final = {
    "string_type": _STRING,
    "string_unicode": _STRING,
    "int_type": _INTEGER,
    "int_parsing": _INTEGER,
    "int_parsing_size": _INTEGER,
    "int_from_float": _INTEGER,
    "finite_number": _INTEGER,
    "bool_type": _BOOLEAN,
    "bool_parsing": _BOOLEAN,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
}
_ENTRIES: Final = {"Dictionary": ("entry", "entries"), "Mapping": ("entry", "entries")}
_ITEMS: Final = ("item", "items")
_CHARACTERS: Final = ("character", "characters")


class Problem(NamedTuple):
    """A problem with a field. `field` is the path of the field, and `text` describes the problem."""

    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


def raise_problems(problems: Iterable[tuple[FieldPath, str]]) -> None:
    """Raise ValidationError with all problems. Do nothing if there are no problems.

    Each problem is a pair: the path of a field, and a text. The path is relative to the value that the
    validator checks.
    """
    details = [
        InitErrorDetails(
            type=PydanticCustomError(_PROBLEM, "{problem}", {"problem": text}), loc=path, input=None
        )
        for path, text in problems
    ]
    if details:
        raise ValidationError.from_exception_data("", details)


def structure_problems(node: Any, root: str) -> list[Problem]:
    """Problems that can occur in every field: values that are nested too deeply, and invalid Unicode text.

    `root` is the path of `node`. Call this function before any recursive function, because deeply nested
    values would exceed Python's recursion limit. This function itself is not recursive.
    """
    problems: list[Problem] = []
    parts: list[tuple[Any, str, int]] = [(node, root, 0)]
    while parts:
        value, path, depth = parts.pop()
        if depth > _MAX_DEPTH:
            return [Problem(path, f"is nested too deeply: at most {_MAX_DEPTH} levels are allowed")]
        if isinstance(value, Mapping):
            parts += [(key, path, depth) for key in value if isinstance(key, str)]
            parts += [(child, f"{path}.{key}", depth + 1) for key, child in value.items()]
        elif isinstance(value, list | tuple):
            parts += [(child, f"{path}[{index}]", depth + 1) for index, child in enumerate(value)]
        elif isinstance(value, str) and not _is_unicode(value):
            problems.append(Problem(_printable(path), "must be valid Unicode text"))
    return problems


def validation_problems(error: ValidationError, root: str = "") -> list[Problem]:
    """All problems in a pydantic error. The path of each field starts with `root`.

    If a required field is misspelt, pydantic reports two problems: an unknown field, and a missing field. The
    unknown field shows the mistake better, so unknown fields come first.
    """
    details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != _UNKNOWN_FIELD)
    return [Problem(_path(root, detail["loc"]), _text(detail)) for detail in details]


def validation_message(error: ValidationError, root: str = "") -> str:
    """All problems in a pydantic error, in one line."""
    return joined_problems([str(problem) for problem in validation_problems(error, root)])


def _is_unicode(text: str) -> bool:
    """Whether UTF-8 can encode the text. It cannot encode half of a surrogate pair, such as `\\ud800`."""
    return text.isascii() or _printable(text) == text


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _path(root: str, steps: FieldPath) -> str:
    path = root
    for step in steps:
        if step != _KEY_STEP:
            path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return path.removeprefix(".")


def _text(detail: ErrorDetails) -> str:
    name, context, value = detail["type"], detail.get("ctx") or {}, detail["input"]
    if name == _PROBLEM:
        return str(context["problem"])
    if name == "value_error":
        return str(context["error"])
    if name in _EXPECTED_TYPES:
        return f"must be {_EXPECTED_TYPES[name]}, not {_shown(value)}"
    if name == "string_pattern_mismatch":
        pattern = context["pattern"]
        text = PATTERN_TEXTS.get(pattern, f"match the regular expression {pattern}")
        return f"{'the key' if _KEY_STEP in detail['loc'] else 'the value'} {_shown(value)} must {text}"
    build = _TEXTS.get(name)
    return build(context, value) if build else f"the value {_shown(value)} is not valid"


def _too_short(context: Mapping[str, Any], _value: Any) -> str:
    return f"must have at least {_counted(context['min_length'], _unit(context))}"


def _too_long(context: Mapping[str, Any], value: Any) -> str:
    limit = context["max_length"]
    if not limit:
        return "must be empty"
    return f"has {len(value)} {_unit(context)[1]}, but must have at most {limit}"


_TEXTS: Final[Mapping[str, Callable[[Mapping[str, Any], Any], str]]] = {
    _UNKNOWN_FIELD: lambda _context, _value: "there is no such field here",
    "invalid_key": lambda _context, _value: "the key must be a string",
    "missing": lambda _context, _value: "is required",
    "none_required": lambda _context, _value: "is not allowed: remove the field",
    "enum": lambda context, value: f"must be {context['expected']}, not {_shown(value)}",
    "literal_error": lambda context, value: f"must be {context['expected']}, not {_shown(value)}",
    "greater_than_equal": lambda context, value: f"must be at least {context['ge']}, not {value}",
    "less_than_equal": lambda context, value: f"must be at most {context['le']}, not {value}",
    "string_too_short": _too_short,
    "string_too_long": _too_long,
    "too_short": _too_short,
    "too_long": _too_long,
}


def _unit(context: Mapping[str, Any]) -> tuple[str, str]:
    """The unit of a value's length, in singular and plural. For a list, it is `("item", "items")`."""
    field_type = context.get("field_type")
    return _CHARACTERS if field_type is None else _ENTRIES.get(field_type, _ITEMS)


def _counted(count: int, unit: tuple[str, str]) -> str:
    return f"{count} {unit[count != 1]}"


def _shown(value: Any) -> str:
    """The value as text for a message, truncated if it is long. A list or mapping is shown as its type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return _LIST
    if isinstance(value, Mapping):
        return _MAPPING
    text = repr(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}…"
