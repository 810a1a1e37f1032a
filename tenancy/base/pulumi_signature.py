"""The key that marks special values in the inputs of Pulumi resources, such as secrets and assets.

An asset is a file or a URL whose content Pulumi reads. If a spec or a plan contained the key, its author
could make Pulumi read any file of the watcher, or send a request to any URL. So specs and plans must not
contain the key.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

PULUMI_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
SIGNATURE_PROBLEM: Final = f"must not contain {PULUMI_SIGNATURE}, because Pulumi reserves this key"


def signature_paths(node: Any, path: str = "") -> Iterator[str]:
    """The paths of all keys and strings in `node` that contain `PULUMI_SIGNATURE`."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            child = f"{path}.{key}" if path else str(key)
            if PULUMI_SIGNATURE in str(key):
                yield child
            else:
                yield from signature_paths(value, child)
    elif isinstance(node, list | tuple):
        for index, value in enumerate(node):
            yield from signature_paths(value, f"{path}[{index}]")
    elif isinstance(node, str) and PULUMI_SIGNATURE in node:
        yield path
