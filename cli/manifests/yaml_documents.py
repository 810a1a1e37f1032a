"""Parses the YAML or JSON documents in a text, and finds repeated keys. No I/O."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import yaml

from cli.manifests.sources import ManifestError
from cli.manifests.yaml_lines import node_line

# A few lines of YAML aliases can expand to billions of values (the "billion laughs" attack). A real manifest
# has far fewer values than this limit.
_MAX_VALUES: Final = 1_000_000

# The keys that a YAML mapping contains more than once. The outer key is the `id` of the mapping's node. For
# each repeated key, the list contains the lines of all occurrences except the last one.
RepeatedKeys = Mapping[int, Mapping[str, list[int]]]


class Document(NamedTuple):
    """A parsed document. `node` is its YAML node, which contains the line numbers.

    An empty document has no node. `repeated` contains the keys that occur more than once in the same mapping.
    """

    value: Any
    node: yaml.Node | None
    repeated: RepeatedKeys


def parsed_documents(file: str, text: str) -> Iterator[Document]:
    """The documents in the text of a file. Raises ManifestError if the syntax is invalid."""
    try:
        if file.endswith(".json"):
            # JSON allows tabs as indentation, but YAML does not.
            node = yaml.compose(text.replace("\t", " "), yaml.SafeLoader)
            yield Document(json.loads(text), node, _repeated_keys(node))
            return
        loader = _Loader(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                if node and _size(node, {}) > _MAX_VALUES:
                    problem = "the YAML aliases here expand to too many values: use fewer aliases"
                    raise ManifestError(file, node_line(node), problem)
                # Find repeated keys first, because `construct_document` adds the keys of merged mappings
                # (`<<`) to the node.
                repeated = _repeated_keys(node)
                yield Document(loader.construct_document(node), node, repeated)
        finally:
            loader.dispose()
    except json.JSONDecodeError as error:
        raise ManifestError(file, error.lineno, f"not JSON: {error.msg}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ManifestError(file, mark.line + 1 if mark else 1, f"not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ManifestError(file, 1, f"can't be read: {' '.join(str(error).split())}") from None


def repeated_fields(
    node: yaml.Node | None, repeated: RepeatedKeys, path: str = ""
) -> Iterator[tuple[str, list[int]]]:
    """The path of each repeated key in the node and its children, such as `spec.plan`.

    For each path, the list contains the lines of all occurrences except the last one.
    """
    if not repeated or not isinstance(node, yaml.CollectionNode):
        return
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from repeated_fields(item, repeated, f"{path}[{index}]")
        return
    for key, lines in repeated.get(id(node), {}).items():
        yield f"{path}.{key}".removeprefix("."), lines
    # The last occurrence of a key counts.
    for key, value in {key.value: value for key, value in node.value if _is_scalar(key)}.items():
        yield from repeated_fields(value, repeated, f"{path}.{key}".removeprefix("."))


class _Loader(yaml.SafeLoader):
    """A YAML loader that, like kubectl, keeps dates as strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """The number of values that the node has after all YAML aliases are expanded.

    `sizes` caches this number for each node. The key is the `id` of the node.
    """
    if id(node) not in sizes:
        # A node can contain an alias to itself. This value prevents an endless recursion.
        sizes[id(node)] = _MAX_VALUES + 1
        sizes[id(node)] = 1 + sum(_size(child, sizes) for child in _children(node))
    return sizes[id(node)]


def _repeated_keys(root: yaml.Node | None) -> RepeatedKeys:
    repeated: dict[int, dict[str, list[int]]] = {}
    nodes, seen = [root] if root else [], set[int]()
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        nodes += _children(node)
        if isinstance(node, yaml.MappingNode):
            lines: dict[str, list[int]] = {}
            for key in (key for key, _ in node.value if _is_scalar(key)):
                lines.setdefault(key.value, []).append(node_line(key))
            keys = {key: found[:-1] for key, found in lines.items() if len(found) > 1}
            if keys:
                repeated[id(node)] = keys
    return repeated


def _children(node: yaml.Node) -> list[yaml.Node]:
    entries = node.value if isinstance(node, yaml.CollectionNode) else ()
    return [child for entry in entries for child in (entry if isinstance(entry, tuple) else (entry,))]


def _is_scalar(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode)
