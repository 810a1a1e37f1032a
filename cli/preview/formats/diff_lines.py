"""Formats the changes to the objects of one tenant as a diff. No I/O.

The diff contains the old and new values of changed fields, and the full manifests of created objects.
"""

import json
import textwrap
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import yaml

from cli.change_groups import ChangeGroup, change_groups, without_namespace
from cli.preview.formats.escape import printable
from cli.preview.result import TenantPreview
from tenancy.base.manifest import Manifest, object_key
from tenancy.changes import Operation

_SIGNS: Final = {Operation.CREATE: "+", Operation.UPDATE: "!", Operation.DELETE: "-", Operation.RELEASE: "!"}
MAX_OBJECT_LINES: Final = 30
MAX_LINES: Final = 300
_MAX_WIDTH: Final = 400
_HEADING_WIDTH: Final = 120


def diff_lines(tenant: TenantPreview) -> list[str]:
    """The lines of the diff. The number of lines and the length of each line are limited."""
    created = {object_key(manifest): manifest for manifest in tenant.new_objects}
    lines: list[str] = []
    heading = ""
    for group in change_groups(tenant.changes, created):
        if group.heading != heading:
            heading = group.heading
            # A list of namespaces can be long. Lines that are too long would be truncated.
            lines += textwrap.wrap(f"{heading}:", _HEADING_WIDTH, break_on_hyphens=False)
        lines += _group_lines(group, created.get(group.change.key))
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… and {len(lines) - MAX_LINES} more lines"]
    return [line if len(line) <= _MAX_WIDTH else line[:_MAX_WIDTH] + "…" for line in lines]


def _group_lines(group: ChangeGroup, created: Manifest | None) -> Iterator[str]:
    operation = group.change.operation
    yield f"{_SIGNS[operation]} {operation} {printable(group.title)}"
    for field in group.change.fields:
        path = printable(field.path)
        if field.before is not None:
            yield f"-   {path}: {_inline(field.before)}"
        if field.after is not None:
            yield f"+   {path}: {_inline(field.after)}"
    if created is not None:
        # Copy the manifest, because YAML prints Python objects that occur twice as anchors and aliases.
        shown = without_namespace(created) if len(group.namespaces) > 1 else created
        unshared = json.loads(json.dumps(shown))
        lines = yaml.safe_dump(unshared, sort_keys=False, allow_unicode=True, width=1000).splitlines()
        yield from (f"+   {printable(line)}" for line in islice(lines, MAX_OBJECT_LINES))
        if len(lines) > MAX_OBJECT_LINES:
            yield f"    … and {len(lines) - MAX_OBJECT_LINES} more lines"


def _inline(value: Any) -> str:
    """The value on one line. An empty string is in quotes, so that it is visible."""
    is_text = isinstance(value, str) and value
    return printable(value if is_text else json.dumps(value, ensure_ascii=False))
