"""Finds, downloads or builds the tools.

This module looks for a tool on PATH, in the cache folder and among the installed Pulumi plugins. If it does
not find the tool, it downloads an official release. If there is no usable release, it builds the tool.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from embedded.cache import cache_folder, locked, replacing
from embedded.toolchain.build import WriteFiles, build_tools
from embedded.toolchain.probe import is_compatible
from embedded.toolchain.release import Releases
from embedded.toolchain.tools import AUDIT_TOOLS, ENGINE, TEST_TOOLS, TOOLS, Tool, cache_key

__all__ = ["TOOLS", "ensure_tools", "path_with", "present_tools"]

_LANGUAGE_HOST = "pulumi-language-python"


def ensure_tools(
    names: Iterable[str] = tuple(TOOLS), *, built_together: Iterable[str] = ()
) -> dict[str, Path]:
    """The paths of the binaries of these tools, keyed by name. Downloads or builds missing tools.

    The tools in `built_together` are optional. If such a tool is missing, it is built only if this call
    builds another tool of the same Go module. In this case, most of its packages are compiled anyway. If the
    tool is not built, the result does not contain it.

    Shows the progress on stderr. Raises SetupFailed if a build fails.
    """
    tools = [_tool(name) for name in names]
    others = [_tool(name) for name in built_together]
    paths = present_tools(tool.name for tool in (*tools, *others))
    missing = [tool for tool in tools if tool.name not in paths]
    if missing:
        print(
            f"Missing tools: {', '.join(tool.name for tool in missing)}. They are downloaded, or built if no"
            " release is available. Later runs use the cached tools.",
            file=sys.stderr,
        )
        with Releases() as releases:
            built = [tool for tool in missing if not _fetch_release(tool, releases)]
        modules = {tool.folder for tool in built}
        built += [tool for tool in others if tool.name not in paths and tool.folder in modules]
        if built:
            build_tools(built, ensure_cached)
        paths |= {tool.name: cached_path(tool) for tool in (*missing, *built)}
    return {tool.name: paths[tool.name] for tool in (*tools, *others) if tool.name in paths}


def present_tools(names: Iterable[str]) -> dict[str, Path]:
    """The paths of the tools that are already on this machine, keyed by name.

    Downloads and builds nothing.
    """
    return {name: path for name in names if (path := present_tool(_tool(name)))}


def path_with(tools: Mapping[str, Path]) -> str:
    """A value for PATH. A shell with this PATH runs these tools and the Python of this process.

    The folders of the tools come first. If the current PATH already finds a tool, the folder of this tool is
    not added. Otherwise, the other programs in this folder would take precedence over programs in other
    folders.
    """
    path = os.environ.get("PATH", os.defpath)
    added = [str(tool.parent) for name, tool in tools.items() if shutil.which(name) != str(tool)]
    folders = [*added, str(Path(sys.executable).parent), *path.split(os.pathsep)]
    return os.pathsep.join(dict.fromkeys(folders))


def present_tool(tool: Tool) -> Path | None:
    """The path of the tool on this machine, in a compatible version. None if there is no such binary."""
    cached = cached_path(tool)
    on_path = shutil.which(tool.name)
    if on_path and Path(on_path) != cached and _is_compatible_on_path(tool, Path(on_path)):
        return Path(on_path)
    if _is_complete(tool, cached):
        return cached
    return _installed_plugin(tool)


def ensure_cached(tool: Tool, write_files: WriteFiles) -> Path:
    """The path of the tool's binary in the cache. If the tool is not in the cache, calls `write_files`."""
    cached = cached_path(tool)
    with locked(cached.parent):
        if not _is_complete(tool, cached):
            with replacing(cached.parent) as folder:
                write_files(tool, folder)
    return cached


def cached_path(tool: Tool) -> Path:
    return cache_folder() / "tools" / cache_key(tool) / tool.name


class _NotReleased(Exception):
    """No release of the tool is available."""


def _tool(name: str) -> Tool:
    return (TOOLS | TEST_TOOLS | AUDIT_TOOLS)[name]


def _fetch_release(tool: Tool, releases: Releases) -> bool:
    """Put an official release of the tool into the cache. Returns False if no release is available."""

    def write_files(tool: Tool, folder: Path) -> None:
        if not releases.fetch(tool, folder):
            raise _NotReleased

    try:
        ensure_cached(tool, write_files)
    except _NotReleased:
        return False
    return True


def _is_complete(tool: Tool, binary: Path) -> bool:
    return all(os.access(binary.with_name(name), os.X_OK) for name in tool.files)


def _is_compatible_on_path(tool: Tool, binary: Path) -> bool:
    # The engine is a part of this checkout. An engine on PATH may be built from another version of its code.
    if tool.name == ENGINE:
        return False
    # The language host prints no version. Each Pulumi release contains the CLI and the language host, and the
    # CLI runs the first language host on PATH. Both have the same version if they are in the same folder.
    if tool.name == _LANGUAGE_HOST:
        cli = shutil.which("pulumi")
        return cli is not None and _is_compatible_on_path(TOOLS["pulumi"], Path(cli))
    if tool.name == "pulumi":
        host = TOOLS[_LANGUAGE_HOST]
        is_pair = shutil.which(host.name) == str(binary.with_name(host.name))
        return is_pair and _is_complete(host, binary.with_name(host.name)) and is_compatible(tool, binary)
    return is_compatible(tool, binary)


def _installed_plugin(tool: Tool) -> Path | None:
    """The path of the tool's binary if the tool is an installed Pulumi plugin.

    None if the plugin is not installed in the pinned version.
    """
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    folder = home / "plugins" / f"{tool.name.removeprefix('pulumi-')}-v{tool.version}"
    binary = folder / tool.name
    is_partial = folder.with_name(f"{folder.name}.partial").exists()
    return binary if _is_complete(tool, binary) and not is_partial else None
