"""Formats a preview as JSON. No I/O.

A later version of tenancy may add fields without a new `formatVersion`. If a later version removes a field or
changes its meaning, it increases `formatVersion`.
"""

from typing import Any, Final

from cli.preview.result import Preview

_FORMAT_VERSION: Final = 1


def json_data(preview: Preview) -> dict[str, Any]:
    """The JSON data: `formatVersion`, `summary`, `counts`, and all fields of the preview in camelCase."""
    head = {"formatVersion": _FORMAT_VERSION, "summary": preview.summary, "counts": preview.counts}
    return {**head, **preview.model_dump(by_alias=True, mode="json")}
