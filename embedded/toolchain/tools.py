"""The tools of the product and of its tests, with their versions, Go packages and build flags.

The version of a tool is the version of its Go module in a go.mod file under toolchain/ or engine/. Versions
are defined only in these go.mod files.
"""

import hashlib
import json
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embedded.environment import ROOT
from embedded.toolchain.compiler import COMPILER_FLAGS

MODULES = ROOT / "toolchain"
# The Go module of the warm engine. The Pulumi CLI is built from this module too, so that packages that both
# use are compiled only once.
ENGINE_FOLDER = ROOT / "engine"
ENGINE: Final = "tenancy-engine"

# The digest of the compiler flags that keys do not mention. Caches from before the flags became a part of the
# key contain tools that were built with these flags.
_FLAGS_WITHOUT_KEY: Final = "2f21d667aa2089b91cce54940dbcb75878185b283492c4bb15aef942ee4abd65"
_PULUMI_SDK: Final = "github.com/pulumi/pulumi/sdk/v3"


@dataclass(frozen=True)
class ModuleFile:
    """A file in the Go module `module`. The go.mod in `folder` defines the version of the module.

    `path` is the path of the file in the module. The function `module_files` also accepts a pattern, such as
    `config/*.yaml`.
    """

    folder: Path
    module: str
    path: str

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True)
class Tool:
    """A program that is built from the Go package `package`. The go.mod for the build is in `folder`.

    If `package` starts with a dot, it is a path in `folder`. Otherwise, it is the import path of a package in
    a module that the go.mod requires.
    """

    name: str
    version: str
    folder: Path
    package: str
    ldflags: str = "-s -w"
    tags: str = ""
    # Files that the sources embed. They are copied into the folder of the sources before the build.
    embeds: tuple[ModuleFile, ...] = ()
    # Files that the tool needs at run time. They are copied into the folder of the binary.
    companions: tuple[ModuleFile, ...] = ()
    # Whether the product works without the tool. If the build of an optional tool fails, the other builds
    # continue.
    is_optional: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the binary and of the files in `companions`."""
        return (self.name, *(companion.name for companion in self.companions))

    @property
    def sources(self) -> list[Path]:
        """The files in `folder` that affect the binary."""
        if not self.package.startswith("."):
            return [self.folder / name for name in ("go.mod", "go.sum")]
        paths = (path for path in self.folder.rglob("*") if not path.name.endswith("_test.go"))
        return sorted(path for path in paths if path.is_file())


def cache_key(tool: Tool, compiler_flags: Sequence[str] = COMPILER_FLAGS) -> str:
    """The name of the tool's folder in the cache.

    The name depends on the tool's version, sources and fields such as `ldflags`, on the compiler flags, and
    on the system. It does not depend on the path of the checkout. It does not depend on the version of Go
    either: all versions that the go.mod allows build equivalent tools, so a new Go version causes no builds.
    """
    recipe = [tool.package, tool.ldflags]
    recipe += [f"{file.module}/{file.path}" for file in (*tool.embeds, *tool.companions)]
    recipe += [tool.tags] if tool.tags else []
    flags = hashlib.sha256(json.dumps(compiler_flags).encode()).hexdigest()
    recipe += [flags] if flags != _FLAGS_WITHOUT_KEY else []
    digest = hashlib.sha256(json.dumps(recipe).encode())
    for source in tool.sources:
        digest.update(source.relative_to(tool.folder).as_posix().encode() + b"\0" + source.read_bytes())
    system, arch = machine()
    return f"{tool.name}-{tool.version}-{system}-{arch}-{digest.hexdigest()[:10]}"


def machine() -> tuple[str, str]:
    """The operating system (GOOS) and architecture (GOARCH) of this machine, such as ("linux", "amd64")."""
    arch = platform.machine().lower()
    return sys.platform, {"x86_64": "amd64", "aarch64": "arm64"}.get(arch, arch)


def version_in(folder: Path, module: str) -> str:
    """The version of a Go module that the go.mod in `folder` requires, such as `1.35.4`.

    Raises LookupError if the go.mod does not require the module.
    """
    line = re.search(rf"^(?:require)?\s+{re.escape(module)} v(\S+)", (folder / "go.mod").read_text(), re.M)
    if line is None:
        raise LookupError(f"{folder / 'go.mod'} does not require {module}")
    return line[1]


def _kubernetes(name: str) -> Tool:
    folder = MODULES / "kubernetes"
    version = version_in(folder, "k8s.io/kubernetes")
    major, minor, _ = version.split(".")
    flag = "-X k8s.io/component-base/version.git"
    return Tool(
        name,
        version,
        folder,
        package=f"k8s.io/kubernetes/cmd/{name}",
        ldflags=f"-s -w {flag}Version=v{version} {flag}Major={major} {flag}Minor={minor}",
    )


def _etcd() -> Tool:
    folder, package = MODULES / "etcd", "go.etcd.io/etcd/server/v3"
    return Tool("etcd", version_in(folder, package), folder, package)


def _pulumi(name: str, package: str, *, is_optional: bool = False) -> Tool:
    version = version_in(ENGINE_FOLDER, _PULUMI_SDK)
    ldflags = f"-s -w -X {_PULUMI_SDK}/go/common/version.Version=v{version}"
    return Tool(name, version, ENGINE_FOLDER, package, ldflags, is_optional=is_optional)


def _pulumi_language_python() -> Tool:
    # The module of the language host does not have a tag for each version of the Pulumi CLI, so the tool gets
    # the version of the CLI. The script that runs the Pulumi program must have the same version as the CLI
    # and the Python package pulumi.
    script = "python/cmd/pulumi-language-python-exec"
    return Tool(
        "pulumi-language-python",
        version_in(ENGINE_FOLDER, _PULUMI_SDK),
        MODULES / "pulumi-language-python",
        package="github.com/pulumi/pulumi/sdk/python/cmd/pulumi-language-python/v3",
        companions=(ModuleFile(ENGINE_FOLDER, _PULUMI_SDK, script),),
    )


def _pulumi_resource_kubernetes() -> Tool:
    folder = MODULES / "pulumi-resource-kubernetes"
    provider, sdk = (
        "github.com/pulumi/pulumi-kubernetes/provider/v4",
        "github.com/pulumi/pulumi-kubernetes/sdk/v4",
    )
    version = version_in(folder, sdk)
    command = "cmd/pulumi-resource-kubernetes"
    return Tool(
        "pulumi-resource-kubernetes",
        version,
        folder,
        package=".",
        ldflags=f"-s -w -X {provider}/pkg/version.Version={version}",
        embeds=tuple(
            ModuleFile(folder, provider, f"{command}/{name}")
            for name in ("schema.json", "terraform-mapping.json")
        ),
    )


def _command(name: str, module: str, path: str = "", version_variable: str = "", tags: str = "") -> Tool:
    """A tool that is built from the Go package at `path` in the Go module `module`.

    If `version_variable` is set, the linker sets the Go variable with this name to the version of the module.
    """
    folder = MODULES / name
    version = version_in(folder, module)
    ldflags = f"-s -w -X {version_variable}=v{version}" if version_variable else "-s -w"
    return Tool(name, version, folder, module + path, ldflags, tags=tags)


def _rclone() -> Tool:
    folder = MODULES / "rclone"
    return Tool("rclone", version_in(folder, "github.com/rclone/rclone"), folder, package=".")


_KWOK: Final = "sigs.k8s.io/kwok"
_GATEKEEPER: Final = "github.com/open-policy-agent/gatekeeper/v3"

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        _etcd(),
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-controller-manager"),
        _kubernetes("kube-scheduler"),
        _kubernetes("kubectl"),
        _command("kwok", _KWOK, "/cmd/kwok", f"{_KWOK}/pkg/consts.Version"),
        _pulumi("pulumi", "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"),
        _pulumi(ENGINE, ".", is_optional=True),
        _pulumi_language_python(),
        _pulumi_resource_kubernetes(),
    )
}

# The tools for the control plane, for the nodes and for the watcher. `pulumi-language-python` is in none of
# these lists, because only a manual `pulumi up` runs it.
CONTROL_PLANE_TOOLS: Final = ("etcd", "kube-apiserver", "kube-controller-manager")
NODE_TOOLS: Final = ("kube-scheduler", "kubectl", "kwok")
STACK_TOOLS: Final = ("pulumi", "pulumi-resource-kubernetes", ENGINE)

# Tools that only `./dev audit` uses.
AUDIT_TOOLS: dict[str, Tool] = {
    "govulncheck": _command("govulncheck", "golang.org/x/vuln", "/cmd/govulncheck")
}

# Tools that only tests use. `./dev run` does not need them.
TEST_TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        _command("gatekeeper", _GATEKEEPER, version_variable=f"{_GATEKEEPER}/pkg/version.Version"),
        _command("coredns", "github.com/coredns/coredns"),
        _command(
            "metrics-server",
            "sigs.k8s.io/metrics-server",
            "/cmd/metrics-server",
            "k8s.io/client-go/pkg/version.gitVersion",
        ),
        _rclone(),
        # The tag omits the service discovery for cloud providers. Tests only use promtool to check alerting
        # rules.
        _command("promtool", "github.com/prometheus/prometheus", "/cmd/promtool", tags="remove_all_sd"),
    )
}
