"""Checks whether an installed binary has a version that can be used instead of the pinned version.

The check runs the binary, and kills it after PROBE_TIMEOUT_S. If the check cannot read the version, the
binary counts as not compatible. This raises no error.
"""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from embedded.toolchain.tools import Tool

PROBE_TIMEOUT_S = 10.0

Version = tuple[int, int, int]

_VERSION_ARGUMENTS = {"kubectl": ("version", "--client"), "pulumi": ("version",)}
_PROVIDER = "pulumi-resource-kubernetes"


def is_compatible(tool: Tool, binary: Path) -> bool:
    """Run the binary to read its version. Return whether this version can replace `tool.version`."""
    output = _provider_version(binary) if tool.name == _PROVIDER else _version_output(tool, binary)
    actual, pinned = parsed_version(output), parsed_version(tool.version)
    return actual is not None and pinned is not None and is_compatible_version(tool.name, actual, pinned)


def is_compatible_version(name: str, actual: Version, pinned: Version) -> bool:
    """Whether the version `actual` of the tool can be used instead of the version `pinned`."""
    if name == "kubectl":
        return actual[0] == pinned[0]
    if name == "pulumi":
        return actual[0] == pinned[0] and actual[1] >= pinned[1]
    if name == _PROVIDER:
        # The Python package pulumi_kubernetes and the provider must have the same version. If this version of
        # the provider is missing, Pulumi downloads it.
        return actual == pinned
    return actual[:2] == pinned[:2]


def parsed_version(text: str) -> Version | None:
    """The first version in the text, for example (1, 35, 4). None if the text contains no version."""
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def _version_output(tool: Tool, binary: Path) -> str:
    try:
        with _started([binary, *_VERSION_ARGUMENTS.get(tool.name, ("--version",))]) as (process, output):
            content = output.read()
            return content.decode(errors="replace") if process.wait() == 0 else ""
    except OSError:
        return ""


def _provider_version(binary: Path) -> str:
    """The version of Pulumi's Kubernetes provider. Empty if the provider does not respond.

    The provider has no option that prints its version, so the version is requested over gRPC. When the
    provider starts, it prints the port of its gRPC service.
    """
    import grpc
    from google.protobuf.empty_pb2 import Empty
    from pulumi.runtime.proto.provider_pb2_grpc import ResourceProviderStub

    try:
        with (
            _started([binary]) as (_, output),
            grpc.insecure_channel(f"127.0.0.1:{int(output.readline())}") as channel,
        ):
            return str(ResourceProviderStub(channel).GetPluginInfo(Empty(), timeout=PROBE_TIMEOUT_S).version)
    except (OSError, ValueError, grpc.RpcError):
        return ""


@contextmanager
def _started(command: Sequence[str | Path]) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Start a process, and yield the process and its stdout.

    Kills the process when the `with` block ends, or after PROBE_TIMEOUT_S.
    """
    process = subprocess.Popen(
        command,
        env=os.environ | {"PULUMI_SKIP_UPDATE_CHECK": "true"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Start a new process group. If the binary is a wrapper script, its child process keeps stdout open,
        # so the child process must be killed too.
        process_group=0,
    )

    def kill() -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(PROBE_TIMEOUT_S, kill)
    timer.start()
    try:
        assert process.stdout
        yield process, process.stdout
    finally:
        timer.cancel()
        kill()
        process.communicate()
