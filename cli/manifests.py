"""Tenant manifests as people keep them: in files, in folders, on standard input, several in one.

`apply` and `preview` read them here. Each knows its file and line, and those of its fields. Whether the
spec is sound is for others to say.
"""

import json
import re
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
from tenancy.base.names import DNS_LABEL_PATTERN, GROUPS, NAMESPACE_MAX_LENGTH

STDIN: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_LISTS: Final = ("List", "TenantList")
# References make a few lines stand for billions of values: what stands for more than this is no manifest.
_MAX_VALUES: Final = 1_000_000


class ManifestError(TenancyError):
    """A file, or a document in it, can't be read as manifests."""

    reason = "InvalidManifest"

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")
        self.file, self.line, self.problem = file, line, problem


@dataclass(frozen=True)
class TenantDocument:
    """A Tenant with a name and one of our API versions, and where it stands."""

    manifest: Manifest
    file: str
    line: int
    _node: yaml.Node | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        name: str = self.manifest["metadata"]["name"]
        return name

    def line_of(self, *paths: str) -> int:
        """Where the first of these fields stands that is there; else where the nearest one around the first
        does."""
        if self._node is None:
            return self.line
        found = [field_location(self._node, path) for path in paths]
        return next((line for line, value in found if value is not None), found[0][0])


@dataclass(frozen=True)
class ManifestSet:
    """All that was found. `others` counts the documents that are no Tenants of ours."""

    tenants: tuple[TenantDocument, ...]
    faults: tuple[ManifestError, ...]
    others: int


# A file's name as people know it, and its content.
Source = tuple[str, str]


def read_manifests(paths: Sequence[str | Path]) -> list[TenantDocument]:
    """The Tenants in these files and folders; `-` is standard input. Raises the first fault."""
    given = parsed_manifests(read_sources(paths))
    if given.faults:
        raise given.faults[0]
    return list(given.tenants)


def read_sources(paths: Sequence[str | Path]) -> list[Source]:
    """OSError for what is not there."""
    return [source for path in paths for source in _read(path)]


def is_manifest_file(name: str) -> bool:
    """By its name. What is hidden is other tools' business."""
    path = Path(name)
    return path.suffix in _SUFFIXES and not any(part.startswith(".") for part in path.parts)


def parsed_manifests(sources: Iterable[Source]) -> ManifestSet:
    tenants: list[TenantDocument] = []
    faults: list[ManifestError] = []
    others = 0
    for file, text in sources:
        try:
            for found in _documents(file, text):
                if isinstance(found, TenantDocument):
                    tenants.append(found)
                elif isinstance(found, ManifestError):
                    faults.append(found)
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
    found = (
        sorted(file for file in root.rglob("*") if is_manifest_file(str(file.relative_to(root))))
        if root.is_dir()
        else [root]
    )
    for file in found:
        if not root.is_dir() or file.is_file():
            # What is no text is told as such by the YAML library, with its place.
            yield file.as_posix(), file.read_text(encoding="utf-8", errors="surrogateescape")


def _documents(file: str, text: str) -> Iterator[TenantDocument | ManifestError | None]:
    """Every document, those in lists too; None for one that is not ours."""
    try:
        if file.endswith(".json"):
            # Tabs are blanks in JSON, and nothing in YAML.
            yield from _tenants(
                file, json.loads(text), yaml.compose(text.replace("\t", " "), yaml.SafeLoader)
            )
            return
        loader = _Loader(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                if node and _size(node, {}) > _MAX_VALUES:
                    raise ManifestError(
                        file, node_line(node), "its anchors stand for too much: write them out"
                    )
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
    """Dates stay text, as kubectl reads them."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values there are once every reference is written out."""
    if id(node) not in known:
        known[id(node)] = _MAX_VALUES + 1  # For what is within itself.
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = (part for one in inner for part in (one if isinstance(one, tuple) else (one,)))
        known[id(node)] = 1 + sum(_size(part, known) for part in parts)
    return known[id(node)]


def _tenants(
    file: str, document: Any, node: yaml.Node | None
) -> Iterator[TenantDocument | ManifestError | None]:
    if document is None:
        return
    if isinstance(document, dict) and document.get("kind") in _LISTS:
        items = document.get("items")
        for index, item in enumerate(items if isinstance(items, list) else ()):
            yield from _tenants(file, item, field_location(node, f"items[{index}]")[1])
        return
    if not _is_ours(document):
        yield None
        return
    if fault := _fault(document):
        path, problem = fault
        yield ManifestError(file, field_location(node, path)[0] or 1, f"{path}: {problem}")
    else:
        yield TenantDocument(document, file, node_line(node), node)


def _is_ours(document: Any) -> bool:
    if not isinstance(document, dict) or document.get("kind") != "Tenant":
        return False
    return api_group(str(document.get("apiVersion"))) in GROUPS


def _fault(document: Manifest) -> tuple[str, str] | None:
    """What keeps a Tenant from being told apart from others."""
    known = [kind.api_version for kind in TENANTS]
    if document["apiVersion"] not in known:
        return "apiVersion", f"is {document['apiVersion']!r}; known: {', '.join(known)}"
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    is_label = isinstance(name, str) and re.fullmatch(DNS_LABEL_PATTERN, name)
    if not is_label or len(str(name)) > NAMESPACE_MAX_LENGTH:
        return "metadata.name", f"is {str(name)[:80]!r}, but must be lower-case letters, digits and dashes"
    return None
