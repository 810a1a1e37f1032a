"""Finds or makes the tools: on PATH, in the cache, as an official release, from source; in that order.

Called by `./dev run`, `env`, `test` and `bench`, and by the tests for what only they use. The modules
`probe`, `release` and `build` do the parts; what comes out is a path per tool, and a PATH on which the tools
find each other.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from embedded.cache import cache_folder, locked, replacing
from embedded.toolchain.build import build_tools
from embedded.toolchain.probe import is_fitting
from embedded.toolchain.release import Releases
from embedded.toolchain.tools import TEST_TOOLS, TOOLS, Tool, cache_key

__all__ = ["TOOLS", "ensure_tools", "path_with", "present_tools"]

_LANGUAGE_HOST = "pulumi-language-python"


def ensure_tools(names: Iterable[str] = tuple(TOOLS)) -> dict[str, Path]:
    """A working binary for each name; what is missing is fetched or built, with progress on stderr."""
    wanted = [_tool(name) for name in names]
    paths = present_tools(tool.name for tool in wanted)
    missing = [tool for tool in wanted if tool.name not in paths]
    if missing:
        print(
            f"Not on this machine yet: {', '.join(tool.name for tool in missing)}. They are fetched, or built"
            " where no release is in reach; this happens once.",
            file=sys.stderr,
        )
        with Releases() as releases:
            unreleased = [tool for tool in missing if not _is_fetched(tool, releases)]
        if unreleased:
            build_tools(unreleased, provide)
    return {tool.name: paths.get(tool.name) or cached_path(tool) for tool in wanted}


def present_tools(names: Iterable[str]) -> dict[str, Path]:
    """Those of the tools that are on this machine; nothing is fetched or built."""
    return {name: path for name in names if (path := present(_tool(name)))}


def path_with(tools: Mapping[str, Path]) -> str:
    """A PATH value on which each tool is found by its name, and Python is the running one.

    Folders of tools that PATH finds anyway are not moved to the front: they hold other programs too.
    """
    path = os.environ.get("PATH", os.defpath)
    added = [str(tool.parent) for name, tool in tools.items() if shutil.which(name) != str(tool)]
    folders = [*added, str(Path(sys.executable).parent), *path.split(os.pathsep)]
    return os.pathsep.join(dict.fromkeys(folders))


def present(tool: Tool) -> Path | None:
    cached = cached_path(tool)
    on_path = shutil.which(tool.name)
    if on_path and Path(on_path) != cached and _is_fitting_on_path(tool, Path(on_path)):
        return Path(on_path)
    if _is_complete(tool, cached):
        return cached
    return _installed_plugin(tool)


def provide(tool: Tool, put: Callable[[Tool, Path], None]) -> Path:
    """The tool in the cache. Unless it is there, `put` has to put its files into the folder that it gets."""
    cached = cached_path(tool)
    with locked(cached.parent):
        if not _is_complete(tool, cached):
            with replacing(cached.parent) as folder:
                put(tool, folder)
    return cached


def cached_path(tool: Tool) -> Path:
    return cache_folder() / "tools" / cache_key(tool) / tool.name


class _NotReleased(Exception):
    """No release of a tool can be had."""


def _tool(name: str) -> Tool:
    return (TOOLS | TEST_TOOLS)[name]


def _is_fetched(tool: Tool, releases: Releases) -> bool:
    def put(tool: Tool, folder: Path) -> None:
        if not releases.fetch(tool, folder):
            raise _NotReleased

    try:
        provide(tool, put)
    except _NotReleased:
        return False
    return True


def _is_complete(tool: Tool, binary: Path) -> bool:
    return all(os.access(binary.with_name(name), os.X_OK) for name in tool.files)


def _is_fitting_on_path(tool: Tool, binary: Path) -> bool:
    # The language host has no version of its own to ask for: it ships beside the CLI, and the CLI takes
    # the first one on PATH. So the two are taken together or not at all.
    if tool.name == _LANGUAGE_HOST:
        cli = shutil.which("pulumi")
        return cli is not None and _is_fitting_on_path(TOOLS["pulumi"], Path(cli))
    if tool.name == "pulumi":
        host = TOOLS[_LANGUAGE_HOST]
        is_pair = shutil.which(host.name) == str(binary.with_name(host.name))
        return is_pair and _is_complete(host, binary.with_name(host.name)) and is_fitting(tool, binary)
    return is_fitting(tool, binary)


def _installed_plugin(tool: Tool) -> Path | None:
    """The provider where `pulumi plugin install` puts it; the folder's name says the version."""
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    folder = home / "plugins" / f"{tool.name.removeprefix('pulumi-')}-v{tool.version}"
    binary = folder / tool.name
    is_partial = folder.with_name(f"{folder.name}.partial").exists()
    return binary if _is_complete(tool, binary) and not is_partial else None
