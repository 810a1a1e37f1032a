"""Does a binary that is already on this machine fit? Asks it for its version and compares.

Called by the resolver. A probe is cut off after a few seconds and never raises: what cannot be asked
does not fit.
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


def is_fitting(tool: Tool, binary: Path) -> bool:
    said = _provider_answer(binary) if tool.name == _PROVIDER else _command_answer(tool, binary)
    found, wanted = version_said(said), version_said(tool.version)
    return found is not None and wanted is not None and is_accepted(tool.name, found, wanted)


def is_accepted(name: str, found: Version, wanted: Version) -> bool:
    if name == "kubectl":
        return found[0] == wanted[0]
    if name == "pulumi":
        return found[0] == wanted[0] and found[1] >= wanted[1]
    if name == _PROVIDER:
        # The Python package asks for its own version of the provider and would download any other.
        return found == wanted
    return found[:2] == wanted[:2]


def version_said(text: str) -> Version | None:
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def _command_answer(tool: Tool, binary: Path) -> str:
    try:
        with _started([binary, *_VERSION_ARGUMENTS.get(tool.name, ("--version",))]) as (process, output):
            said = output.read()
            return said.decode(errors="replace") if process.wait() == 0 else ""
    except OSError:
        return ""


def _provider_answer(binary: Path) -> str:
    """The provider has no version option: it prints the port it serves on, and answers there."""
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
    """A process and its output. It is killed when time is up, and at the end in any case."""
    process = subprocess.Popen(
        command,
        env=os.environ | {"PULUMI_SKIP_UPDATE_CHECK": "true"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # A wrapper's child would hold the output open after the wrapper is killed: the whole group has to go.
        process_group=0,
    )

    def kill() -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    cut_off = threading.Timer(PROBE_TIMEOUT_S, kill)
    cut_off.start()
    try:
        assert process.stdout
        yield process, process.stdout
    finally:
        cut_off.cancel()
        kill()
        process.communicate()
