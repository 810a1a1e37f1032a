"""Reads Tenant manifests from files, folders and standard input, and finds the line of each field.

This module validates only the API version and the name of a Tenant, not its spec.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from cli.yaml_lines import field_location, node_line
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import TENANTS, api_group
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS, tenant_name_problem

STDIN: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_LIST_KINDS: Final = ("List", "TenantList")
# A few lines of YAML aliases can expand to billions of values (the "billion laughs" attack). A real manifest
# has far fewer values than this limit.
_MAX_VALUES: Final = 1_000_000


class ManifestError(TenancyError):
    """A file, or a document in a file, is not a valid manifest."""

    reason = "InvalidManifest"

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")
        self.file, self.line, self.problem = file, line, problem


@dataclass(frozen=True)
class TenantDocument:
    """A Tenant manifest with a valid name and API version, and its position in a file.

    `line` is the first line of the manifest. The first line of a file is 1.
    """

    manifest: Manifest
    file: str
    line: int
    _node: yaml.Node | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        name: str = self.manifest["metadata"]["name"]
        return name

    def line_of(self, *paths: str) -> int:
        """The line of the first field in `paths` that exists in the manifest.

        If none of the fields exists, the result is the line of the closest existing parent of `paths[0]`.
        """
        if self._node is None:
            return self.line
        locations = [field_location(self._node, path) for path in paths]
        return next((line for line, value in locations if value is not None), locations[0][0])


@dataclass(frozen=True)
class ManifestSet:
    """The documents in all files that the user gave."""

    tenants: tuple[TenantDocument, ...]
    faults: tuple[ManifestError, ...]
    # The number of documents that are not Tenants.
    others: int


# A file's name as the user gave it, and its content.
Source = tuple[str, str]


def read_manifests(paths: Sequence[str | Path]) -> ManifestSet:
    """Read the documents in files and folders. The path `-` means standard input.

    Raises OSError if a file cannot be read.
    """
    return parsed_manifests(read_sources(paths))


def read_sources(paths: Sequence[str | Path]) -> list[Source]:
    """Read the given files, and the manifest files in the given folders. The path `-` means standard input.

    Raises OSError if a file cannot be read.
    """
    return [source for path in paths for source in _read(path)]


def is_manifest_file(name: str) -> bool:
    """Whether a file has a manifest suffix, and no part of its path starts with a dot."""
    path = Path(name)
    return path.suffix in _SUFFIXES and not any(part.startswith(".") for part in path.parts)


def parsed_manifests(sources: Iterable[Source]) -> ManifestSet:
    """The documents in the sources.

    After a syntax error, the rest of the file is skipped. Any other error affects only one document.
    """
    tenants: list[TenantDocument] = []
    faults: list[ManifestError] = []
    others = 0
    for file, text in sources:
        try:
            for document in _documents(file, text):
                if isinstance(document, TenantDocument):
                    tenants.append(document)
                elif isinstance(document, ManifestError):
                    faults.append(document)
                else:
                    others += 1
        except ManifestError as fault:
            faults.append(fault)
    return ManifestSet(tuple(tenants), tuple(faults), others)


def _read(path: str | Path) -> Iterator[Source]:
    if str(path) == STDIN:
        yield STDIN, sys.stdin.read()
        return
    root = Path(path)
    files = (
        sorted(file for file in root.rglob("*") if is_manifest_file(str(file.relative_to(root))))
        if root.is_dir()
        else [root]
    )
    for file in files:
        if not root.is_dir() or file.is_file():
            # With surrogateescape, the YAML library reports the position of invalid bytes.
            yield file.as_posix(), file.read_text(encoding="utf-8", errors="surrogateescape")


def _documents(file: str, text: str) -> Iterator[TenantDocument | ManifestError | None]:
    """Every document in the file, including the items of lists.

    A document that is not a Tenant is returned as None. An invalid Tenant is returned as a ManifestError.
    Raises ManifestError if the syntax is invalid.
    """
    try:
        if file.endswith(".json"):
            # JSON allows tabs as indentation, but YAML does not.
            yield from _tenants(
                file, json.loads(text), yaml.compose(text.replace("\t", " "), yaml.SafeLoader)
            )
            return
        loader = _Loader(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                if node and _size(node, {}) > _MAX_VALUES:
                    problem = "the YAML aliases here expand to too many values: use fewer aliases"
                    raise ManifestError(file, node_line(node), problem)
                yield from _tenants(file, loader.construct_document(node), node)
        finally:
            loader.dispose()
    except json.JSONDecodeError as error:
        raise ManifestError(file, error.lineno, f"not JSON: {error.msg}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ManifestError(file, mark.line + 1 if mark else 1, f"not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ManifestError(file, 1, f"can't be read: {' '.join(str(error).split())}") from None


class _Loader(yaml.SafeLoader):
    """A YAML loader that, like kubectl, keeps dates as strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """The number of values in the node after all aliases are expanded.

    `sizes` caches this number for each node. The key is the `id` of the node.
    """
    if id(node) not in sizes:
        # A node can contain an alias to itself. This value prevents an endless recursion.
        sizes[id(node)] = _MAX_VALUES + 1
        entries = node.value if isinstance(node, yaml.CollectionNode) else ()
        children = (child for entry in entries for child in (entry if isinstance(entry, tuple) else (entry,)))
        sizes[id(node)] = 1 + sum(_size(child, sizes) for child in children)
    return sizes[id(node)]


def _tenants(
    file: str, document: Any, node: yaml.Node | None
) -> Iterator[TenantDocument | ManifestError | None]:
    if document is None:
        return
    if isinstance(document, dict) and document.get("kind") in _LIST_KINDS:
        items = document.get("items")
        for index, item in enumerate(items if isinstance(items, list) else ()):
            yield from _tenants(file, item, field_location(node, f"items[{index}]")[1])
        return
    if not _is_tenant(document):
        yield None
        return
    if fault := _fault(document):
        path, problem = fault
        yield ManifestError(file, field_location(node, path)[0] or 1, f"{path}: {problem}")
    else:
        yield TenantDocument(document, file, node_line(node), node)


def _is_tenant(document: Any) -> bool:
    if not isinstance(document, dict) or document.get("kind") != "Tenant":
        return False
    return api_group(str(document.get("apiVersion"))) in GROUPS


def _fault(document: Manifest) -> tuple[str, str] | None:
    """The path of the invalid field and the problem. None if the API version and the name are valid."""
    api_versions = [kind.api_version for kind in TENANTS]
    if document["apiVersion"] not in api_versions:
        return "apiVersion", f"is {document['apiVersion']!r}, but must be {' or '.join(api_versions)}"
    metadata = document.get("metadata")
    problem = tenant_name_problem(metadata.get("name") if isinstance(metadata, dict) else None)
    return ("metadata.name", problem) if problem else None
