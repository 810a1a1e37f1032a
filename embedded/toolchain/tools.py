"""The tools the product runs on, and those its tests use: their versions, and how each is built.

Read by the resolver, the downloads and the builds. A tool's version comes out of the go.mod it is
built from, so a bump is made in one place. Nothing here touches the network or runs a process.
"""

import hashlib
import json
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embedded.environment import ROOT

MODULES = ROOT / "toolchain"


@dataclass(frozen=True)
class ModuleFile:
    """A file out of a Go module, in the version that the go.mod in `folder` asks for.

    `path` may be a pattern such as `config/*.yaml` where the reader takes several.
    """

    folder: Path
    module: str
    path: str

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True)
class Tool:
    name: str
    version: str
    folder: Path
    package: str
    ldflags: str = "-s -w"
    tags: str = ""
    # Put beside the sources before they are compiled.
    embeds: tuple[ModuleFile, ...] = ()
    # Put beside the binary; the tool does not work without them.
    companions: tuple[ModuleFile, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return (self.name, *(companion.name for companion in self.companions))


def cache_key(tool: Tool) -> str:
    """A name that changes whenever the binary would, and is the same in every checkout."""
    recipe = [tool.package, tool.ldflags]
    recipe += [f"{file.module}/{file.path}" for file in (*tool.embeds, *tool.companions)]
    recipe += [tool.tags] if tool.tags else []
    digest = hashlib.sha256(json.dumps(recipe).encode())
    for source in sorted(path for path in tool.folder.rglob("*") if path.is_file()):
        digest.update(source.relative_to(tool.folder).as_posix().encode() + b"\0" + source.read_bytes())
    system, arch = machine()
    return f"{tool.name}-{tool.version}-{system}-{arch}-{digest.hexdigest()[:10]}"


def machine() -> tuple[str, str]:
    """This machine in Go's words, for example ("linux", "amd64")."""
    arch = platform.machine().lower()
    return sys.platform, {"x86_64": "amd64", "aarch64": "arm64"}.get(arch, arch)


def version_in(folder: Path, module: str) -> str:
    line = re.search(rf"^(?:require)?\s+{re.escape(module)} v(\S+)", (folder / "go.mod").read_text(), re.M)
    if line is None:
        raise LookupError(f"{folder / 'go.mod'} does not require {module}")
    return line[1]


def _kubernetes(name: str) -> Tool:
    folder = MODULES / "kubernetes"
    version = version_in(folder, "k8s.io/kubernetes")
    major, minor, _ = version.split(".")
    stamp = "-X k8s.io/component-base/version.git"
    return Tool(
        name,
        version,
        folder,
        package=f"k8s.io/kubernetes/cmd/{name}",
        ldflags=f"-s -w {stamp}Version=v{version} {stamp}Major={major} {stamp}Minor={minor}",
    )


def _etcd() -> Tool:
    folder, package = MODULES / "etcd", "go.etcd.io/etcd/server/v3"
    return Tool("etcd", version_in(folder, package), folder, package)


def _pulumi() -> Tool:
    folder, sdk = MODULES / "pulumi", "github.com/pulumi/pulumi/sdk/v3"
    version = version_in(folder, sdk)
    return Tool(
        "pulumi",
        version,
        folder,
        package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        ldflags=f"-s -w -X {sdk}/go/common/version.Version=v{version}",
    )


def _pulumi_language_python() -> Tool:
    # The host's own module has no release as new as the CLI's; it ships under the CLI's version, and the
    # script that runs the program must fit the CLI and the Python package.
    script = "python/cmd/pulumi-language-python-exec"
    return Tool(
        "pulumi-language-python",
        _pulumi().version,
        MODULES / "pulumi-language-python",
        package="github.com/pulumi/pulumi/sdk/python/cmd/pulumi-language-python/v3",
        companions=(ModuleFile(MODULES / "pulumi", "github.com/pulumi/pulumi/sdk/v3", script),),
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
    """A tool that is a command of its module, at this path in it. Its version is noted in the variable."""
    folder = MODULES / name
    version = version_in(folder, module)
    ldflags = f"-s -w -X {version_variable}=v{version}" if version_variable else "-s -w"
    return Tool(name, version, folder, module + path, ldflags, tags=tags)


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
        _pulumi(),
        _pulumi_language_python(),
        _pulumi_resource_kubernetes(),
    )
}

# What the parts of `./dev run` need: the API server with its controllers, nodes for pods, and the watcher.
# `pulumi-language-python` is in none of them: only `pulumi` by hand starts it.
CONTROL_PLANE_TOOLS: Final = ("etcd", "kube-apiserver", "kube-controller-manager")
NODE_TOOLS: Final = ("kube-scheduler", "kubectl", "kwok")
STACK_TOOLS: Final = ("pulumi", "pulumi-resource-kubernetes")

# What tests run beside the product: a user of it never waits for these.
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
        # It is used for rules only: nobody's cloud has to be found.
        _command("promtool", "github.com/prometheus/prometheus", "/cmd/promtool", tags="remove_all_sd"),
    )
}
