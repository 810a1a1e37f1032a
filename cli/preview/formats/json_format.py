"""Formats a preview as JSON. No I/O.

Within one `formatVersion`, fields can be added. Existing fields are not removed, and keep their meaning.
"""

from typing import Any, Final

from cli.preview.result import Preview

_FORMAT_VERSION: Final = 1


def json_data(preview: Preview) -> dict[str, Any]:
    """The format version, the summary, the counts, and all fields of the preview with camelCase names."""
    head = {"formatVersion": _FORMAT_VERSION, "summary": preview.summary, "counts": preview.counts}
    return {**head, **preview.model_dump(by_alias=True, mode="json")}
