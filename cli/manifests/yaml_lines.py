"""Finds the line numbers of fields in YAML documents. No I/O."""

import re
from collections.abc import Sequence
from typing import Any, Final

import yaml

_INDEX: Final = re.compile(r"\[(\d+)\]")


def field_line(text: str, path: str) -> int:
    """The line of the field with this path, such as `plans.small`, in a YAML text. The first line is 1.

    If the field does not exist, the result is the line of its closest existing parent.
    """
    return field_location(yaml.compose(text, yaml.SafeLoader), path)[0]


def node_line(node: yaml.Node | None) -> int:
    return node.start_mark.line + 1 if node else 1


def field_location(node: yaml.Node | None, path: str) -> tuple[int, yaml.Node | None]:
    """The line and the value of the field with this path, such as `spec.namespaces[0].name`, below the node.

    The line is the one with the field's name. The value may start on the next line. If the field does not
    exist, the line is the one with the name of its closest existing parent, and the value is None. If a key
    occurs more than once, the last occurrence counts, as in the parsed document.
    """
    line = node_line(node)
    while path:
        children = node.value if isinstance(node, yaml.CollectionNode) else ()
        index = _INDEX.match(path)
        if index and isinstance(node, yaml.SequenceNode):
            name, pairs = index[0], [(value, value) for value in children[int(index[1]) : int(index[1]) + 1]]
        elif isinstance(node, yaml.MappingNode):
            name, pairs = _first_name(path, children)
        else:
            pairs = []
        if not pairs:
            return line, None
        line, node = node_line(pairs[-1][0]), pairs[-1][1]
        path = path[len(name) :].removeprefix(".")
    return line, node


def _first_name(path: str, children: Sequence[tuple[Any, Any]]) -> tuple[str, list[tuple[Any, Any]]]:
    """The longest key in `children` with which the path starts, and all entries in `children` with this key.

    A key can contain dots, so the path cannot simply be split at its dots.
    """
    names = [
        key.value
        for key, _ in children
        if path == key.value or path.startswith((f"{key.value}.", f"{key.value}["))
    ]
    name = max(names, key=len, default="")
    return name, [(key, value) for key, value in children if names and key.value == name]
