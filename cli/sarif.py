"""Builds SARIF 2.1.0 documents.

Code hosts such as GitHub show each result of a SARIF document next to the line of the file that it refers to.
"""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_document(tool: str, rules: Sequence[Any], results: Sequence[Any]) -> dict[str, Any]:
    """A document with one run of the tool `tool`. `rules` and `results` are already in the SARIF format."""
    driver = {"name": tool, "rules": list(rules)}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": list(results)}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def sarif_location(file: str, line: int) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": line}},
    }
