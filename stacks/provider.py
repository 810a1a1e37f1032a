"""Which version the Kubernetes provider on this machine is: it has no option for that, but answers when run.

Read by `tenancy doctor`. Where there is none on PATH, the CLI takes the one among its installed plugins.
"""

import os
import shutil
import subprocess
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Final

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto.provider_pb2_grpc import ResourceProviderStub

_NAME: Final = "pulumi-resource-kubernetes"
_TIMEOUT_S: Final = 20.0


def wanted_provider() -> str:
    """The version that the Python package asks for."""
    return version("pulumi-kubernetes")


def found_provider() -> str | None:
    """The version that the CLI would run; empty where it doesn't say, None where there is none."""
    binary = shutil.which(_NAME)
    if binary is not None:
        return _answer(binary)
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    wanted = wanted_provider()
    folder = home / "plugins" / f"{_NAME.removeprefix('pulumi-')}-v{wanted}"
    return wanted if os.access(folder / _NAME, os.X_OK) else None


def _answer(binary: str) -> str:
    """It prints the port it serves on, and answers there."""
    with subprocess.Popen(
        [binary], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        cut_off = threading.Timer(_TIMEOUT_S, process.kill)
        cut_off.start()
        try:
            assert process.stdout is not None
            with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
                told = ResourceProviderStub(channel).GetPluginInfo(Empty(), timeout=_TIMEOUT_S)
                return str(told.version).removeprefix("v")
        except (OSError, ValueError, grpc.RpcError):
            return ""
        finally:
            cut_off.cancel()
            process.kill()
