"""Formats a preview as JSON. No I/O.

Within one `formatVersion`, fields are only added, never removed or changed in meaning.
"""

from typing import Any, Final

from cli.preview.result import Preview

_FORMAT_VERSION: Final = 1


def json_data(preview: Preview) -> dict[str, Any]:
    """The JSON document: a head, and the models in `cli.preview.result` with camelCase names."""
    head = {"formatVersion": _FORMAT_VERSION, "summary": preview.summary, "counts": preview.counts}
    return {**head, **preview.model_dump(by_alias=True, mode="json")}
