"""Parses JSON from the API server. The values in the JSON can be nested to any depth.

A user can nest the values of an `extraResources` item thousands of levels deep. The JSON parser rejects such
a document, and recursive functions would fail on it. One such Tenant must not stop the watcher. So this
module replaces all values that are deeper than a limit. Valid Kubernetes objects have far fewer levels. A
Tenant with too many levels is rejected later, because the limit for the spec of a Tenant is lower.
"""

import re
from typing import Any, Final

from pydantic_core import from_json

# If a document has too many levels for the parser, the values below this level are replaced. The parser
# accepts 200 levels.
_KEPT_DEPTH: Final = 150
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]')


def parsed_json(document: bytes) -> Any:
    """Parse a JSON document. Values that are nested too deeply become None.

    Raises ValueError if the document is not valid JSON.
    """
    try:
        return from_json(document)
    except ValueError as error:
        if "recursion limit" not in str(error):
            raise
    return from_json(_without_deep_values(document))


def _without_deep_values(document: bytes) -> bytes:
    """A copy of the document. Each list and each mapping below the level `_KEPT_DEPTH` is null."""
    kept: list[bytes] = []
    depth = copied = 0
    for token in _TOKEN.finditer(document):
        if token[0] in (b"[", b"{"):
            depth += 1
            if depth == _KEPT_DEPTH + 1:
                kept += [document[copied : token.start()], b"null"]
        elif token[0] in (b"]", b"}"):
            depth -= 1
            if depth == _KEPT_DEPTH:
                copied = token.end()
    return b"".join([*kept, document[copied:]])
