"""Finds the line numbers of fields in YAML documents. No I/O."""

import re
from typing import Final

import yaml

_PATH_STEP: Final = re.compile(r"\[(\d+)\]|[^.\[\]]+")


def field_line(text: str, path: str) -> int:
    """The line of a field in a YAML text. The first line is 1.

    If the field does not exist, the result is the line of its closest existing parent.
    """
    return field_location(yaml.compose(text, yaml.SafeLoader), path)[0]


def node_line(node: yaml.Node | None) -> int:
    return node.start_mark.line + 1 if node else 1


def field_location(node: yaml.Node | None, path: str) -> tuple[int, yaml.Node | None]:
    """The line and the value of a field.

    The line contains the field's name. The value may start on the next line. If the field does not exist, the
    line contains the name of its closest existing parent, and the value is None.
    """
    line = node_line(node)
    for step in _PATH_STEP.finditer(path):
        index, children = step[1], node.value if isinstance(node, yaml.CollectionNode) else []
        if index is not None and isinstance(node, yaml.SequenceNode):
            pairs = [(value, value) for value in children[int(index) : int(index) + 1]]
        elif index is None and isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in children if key.value == step[0]]
        else:
            pairs = []
        if not pairs:
            return line, None
        line, node = node_line(pairs[0][0]), pairs[0][1]
    return line, node
