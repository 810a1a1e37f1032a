"""Where the fields of a YAML document stand, line by line. Pure. `manifests` uses it, and `plans impact`."""

import re
from typing import Final

import yaml

_STEP: Final = re.compile(r"\[(\d+)\]|[^.\[\]]+")


def field_line(text: str, path: str) -> int:
    """Where a field stands in a YAML text, or the nearest one around it."""
    return field_location(yaml.compose(text, yaml.SafeLoader), path)[0]


def node_line(node: yaml.Node | None) -> int:
    return node.start_mark.line + 1 if node else 1


def field_location(node: yaml.Node | None, path: str) -> tuple[int, yaml.Node | None]:
    """The line of a field, or of the nearest one around it, and the field's value, None where it is not
    there. The line is that of the field's name: a value may begin on the next one."""
    line = node_line(node)
    for step in _STEP.finditer(path):
        index, inner = step[1], node.value if isinstance(node, yaml.CollectionNode) else []
        if index is not None and isinstance(node, yaml.SequenceNode):
            pairs = [(value, value) for value in inner[int(index) : int(index) + 1]]
        elif index is None and isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in inner if key.value == step[0]]
        else:
            pairs = []
        if not pairs:
            return line, None
        line, node = node_line(pairs[0][0]), pairs[0][1]
    return line, node
