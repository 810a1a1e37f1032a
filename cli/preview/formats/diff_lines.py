"""Formats the changes of one tenant as a diff. No I/O.

The diff has the old and new values of changed fields, and the full manifests of created objects.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import yaml

from cli.preview.formats.escape import printable
from cli.preview.result import TenantPreview
from tenancy.base.manifest import Manifest, object_key
from tenancy.changes import ObjectChange, Operation

_SIGNS: Final = {Operation.CREATE: "+", Operation.UPDATE: "!", Operation.DELETE: "-", Operation.RELEASE: "!"}
MAX_OBJECT_LINES: Final = 30
MAX_LINES: Final = 300
_MAX_WIDTH: Final = 400


def diff_lines(tenant: TenantPreview) -> list[str]:
    """The lines of the diff. The number of lines and the length of each line are limited."""
    created = {object_key(manifest): manifest for manifest in tenant.new_objects}
    lines = [line for change in tenant.changes for line in _change_lines(change, created.get(change.key))]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… and {len(lines) - MAX_LINES} more lines"]
    return [line if len(line) <= _MAX_WIDTH else line[:_MAX_WIDTH] + "…" for line in lines]


def _change_lines(change: ObjectChange, created: Manifest | None) -> Iterator[str]:
    yield f"{_SIGNS[change.operation]} {change.operation} {printable(str(change.key))}"
    for field in change.fields:
        path = printable(field.path)
        if field.before is not None:
            yield f"-   {path}: {_inline(field.before)}"
        if field.after is not None:
            yield f"+   {path}: {_inline(field.after)}"
    if created is not None:
        # Copy the manifest, because YAML prints Python objects that occur twice as anchors and aliases.
        unshared = json.loads(json.dumps(created))
        lines = yaml.safe_dump(unshared, sort_keys=False, allow_unicode=True, width=1000).splitlines()
        yield from (f"+   {printable(line)}" for line in islice(lines, MAX_OBJECT_LINES))
        if len(lines) > MAX_OBJECT_LINES:
            yield f"    … and {len(lines) - MAX_OBJECT_LINES} more lines"


def _inline(value: Any) -> str:
    """The value in one line. An empty string is printed in quotes, so that it is visible."""
    is_text = isinstance(value, str) and value
    return printable(value if is_text else json.dumps(value, ensure_ascii=False))
