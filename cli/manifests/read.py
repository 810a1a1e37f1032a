"""Reads Tenant manifests, and finds errors in the fields outside the spec, such as the name.

Documents of other kinds are skipped. A document that is probably a mistyped Tenant counts as an error. The
result contains the file and the line of each Tenant, so that messages can refer to them.
"""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from cli.manifests.object_fields import object_problems
from cli.manifests.sources import ManifestError, Source, read_sources
from cli.manifests.yaml_documents import Document, parsed_documents, repeated_fields
from cli.manifests.yaml_lines import field_location, node_line
from tenancy.base.errors import Rejection, combined
from tenancy.base.kinds import AISESSION, TENANTS, api_group
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS, tenant_name_problem
from tenancy.base.validation import Problem
from tenancy.spec.tenant import tenant_from_manifest

_TENANT: Final = TENANTS[0].kind
_LIST_KINDS: Final = ("List", f"{_TENANT}List")
_API_VERSIONS: Final = [kind.api_version for kind in TENANTS]
# Used in place of an invalid name, to find the errors of the spec.
_ANY_NAME: Final = "x"


class InvalidFields(Rejection):
    """Fields outside the spec of a Tenant manifest are invalid, or the YAML contains a key twice."""

    reason = ManifestError.reason


@dataclass(frozen=True)
class TenantDocument:
    """A Tenant manifest with a valid name and API version, and its position in a file.

    `line` is the line of the file in which the manifest starts. The first line of a file is 1.
    """

    manifest: Manifest
    file: str
    line: int
    # The errors outside the spec.
    problems: tuple[Problem, ...] = ()
    _node: yaml.Node | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        name: str = self.manifest["metadata"]["name"]
        return name

    def check(self) -> None:
        """Raise InvalidFields if `problems` is not empty. The error contains all problems."""
        if self.problems:
            raise combined([InvalidFields(*problem) for problem in self.problems])

    def line_of(self, *paths: str) -> int:
        """The line of the first field in `paths` that the manifest contains, such as `spec.plan`.

        If the manifest contains none of the fields, the result is the line of the closest existing parent of
        `paths[0]`.
        """
        if self._node is None:
            return self.line
        locations = [field_location(self._node, path) for path in paths]
        return next((line for line, value in locations if value is not None), locations[0][0])


@dataclass(frozen=True)
class ManifestSet:
    """The result of reading all files that the user gave."""

    tenants: tuple[TenantDocument, ...]
    # Paths and documents that cannot be read, and Tenants without a valid name or API version.
    faults: tuple[ManifestError, ...]
    # The number of documents that are not Tenants.
    others: int


def read_manifests(paths: Sequence[str | Path]) -> ManifestSet:
    """Read the manifests in files and folders. The path `-` means standard input."""
    return parsed_manifests(read_sources(paths))


def parsed_manifests(sources: Iterable[Source | ManifestError]) -> ManifestSet:
    """Parse the manifests in the sources. Errors are in `faults` of the result.

    After a syntax error, the rest of the file is skipped. Any other error affects only one document.
    """
    tenants: list[TenantDocument] = []
    faults: list[ManifestError] = []
    others = 0
    for source in sources:
        if isinstance(source, ManifestError):
            faults.append(source)
            continue
        file, text = source
        try:
            for document in parsed_documents(file, text):
                for result in _results(file, document):
                    if isinstance(result, TenantDocument):
                        tenants.append(result)
                    elif isinstance(result, ManifestError):
                        faults.append(result)
                    else:
                        others += 1
        except ManifestError as fault:
            faults.append(fault)
    return ManifestSet(tuple(tenants), tuple(faults), others)


def _results(file: str, document: Document) -> Iterator[TenantDocument | ManifestError | None]:
    """Yield a TenantDocument, or the errors of a Tenant, or None if the document is not a Tenant.

    A document of the kind List or TenantList yields the results of all its items. An empty document yields
    nothing.
    """
    value, node = document.value, document.node
    if value is None:
        return
    if not isinstance(value, dict):
        yield None
        return
    if value.get("kind") in _LIST_KINDS:
        for key, lines in document.repeated.get(id(node), {}).items():
            line = field_location(node, key)[0]
            yield ManifestError(file, line, f"{key}: {_repeated_text(lines)}")
        items = value.get("items")
        for index, item in enumerate(items if isinstance(items, list) else ()):
            item_node = field_location(node, f"items[{index}]")[1]
            yield from _results(file, Document(item, item_node, document.repeated))
        return
    identity_problems = _identity_problems(value)
    repeated = [
        Problem(path, _repeated_text(lines)) for path, lines in repeated_fields(node, document.repeated)
    ]
    if identity_problems is None and not _hides_tenant(document):
        yield None
    elif identity_problems or identity_problems is None:
        problems = [*(identity_problems or ()), *repeated]
        if _is_similar(value.get("kind"), (_TENANT,)):
            problems += [*object_problems(value), *_spec_problems(value)]
        for problem in problems:
            yield ManifestError(file, field_location(node, problem.field)[0], str(problem))
    else:
        yield TenantDocument(value, file, node_line(node), (*repeated, *object_problems(value)), node)


def _identity_problems(document: dict[Any, Any]) -> list[Problem] | None:
    """The problems with the API version, the kind and the name.

    None if the document is neither a Tenant nor probably a mistyped Tenant.
    """
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if not _is_tenant(api_version, kind):
        return None
    problems = []
    if kind != _TENANT:
        known = [_TENANT, AISESSION.kind] if api_group(str(api_version)) == AISESSION.group else [_TENANT]
        problems.append(Problem("kind", f"is {_shown(kind)}, but must be {' or '.join(known)}"))
    if not _is_similar(kind, (_TENANT,)):
        return problems
    if api_version not in _API_VERSIONS:
        text = f"is {_shown(api_version)}, but a Tenant must have {' or '.join(_API_VERSIONS)}"
        problems.append(Problem("apiVersion", text))
    metadata = document.get("metadata")
    if name_problem := tenant_name_problem(metadata.get("name") if isinstance(metadata, dict) else None):
        problems.append(Problem("metadata.name", name_problem))
    return problems


def _is_tenant(api_version: object, kind: object) -> bool:
    """Whether a document with these values is a Tenant, or probably a mistyped Tenant.

    Other projects, such as Capsule and MinIO, also have a kind Tenant. So the API group of a mistyped Tenant
    must be missing or similar to one of the groups of this project.
    """
    group = api_group(str(api_version))
    if group in GROUPS:
        return kind not in (AISESSION.kind, f"{AISESSION.kind}List")
    return kind == _TENANT and (not group or _is_similar(group, GROUPS))


def _is_similar(text: object, words: Sequence[str]) -> bool:
    return bool(difflib.get_close_matches(str(text), words))


def _hides_tenant(document: Document) -> bool:
    """Whether the document contains `kind` or `apiVersion` twice, and one of the values is that of a Tenant.

    The last value counts, so the parsed document may be of another kind. Its author probably meant a Tenant.
    """
    node = document.node
    if (
        not isinstance(node, yaml.MappingNode)
        or not {"apiVersion", "kind"} & document.repeated.get(id(node), {}).keys()
    ):
        return False
    api_versions, kinds = (
        [value.value for key, value in node.value if key.value == name] for name in ("apiVersion", "kind")
    )
    return any(_is_tenant(api_version, kind) for api_version in api_versions for kind in kinds)


def _spec_problems(document: dict[Any, Any]) -> list[Problem]:
    try:
        tenant_from_manifest({**document, "metadata": {"name": _ANY_NAME}})
    except Rejection as error:
        return [Problem(rejection.field, rejection.problem) for rejection in error.each]
    return []


def _repeated_text(lines: Sequence[int]) -> str:
    return f"the key is repeated; it is also in line {', '.join(map(str, lines))}; keep only one of them"


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)
