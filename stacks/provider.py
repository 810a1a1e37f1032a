"""Finds the version of Pulumi's Kubernetes provider on this machine.

The CLI uses the provider on PATH. If there is no provider on PATH, the CLI uses the installed plugin. The
name of the plugin's folder contains the version. A provider on PATH has no option that prints its version. So
this module starts the provider, and requests the version over gRPC.
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


def required_provider_version() -> str:
    """The provider version that the Python package `pulumi-kubernetes` requires."""
    return version("pulumi-kubernetes")


def installed_provider_version() -> str | None:
    """The version of the provider that the CLI would run.

    Empty if the provider on PATH does not report its version. None if there is no provider on PATH, and the
    plugin is not installed in the required version.
    """
    binary = shutil.which(_NAME)
    if binary is not None:
        return _reported_version(binary)
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    required = required_provider_version()
    folder = home / "plugins" / f"{_NAME.removeprefix('pulumi-')}-v{required}"
    return required if os.access(folder / _NAME, os.X_OK) else None


def _reported_version(binary: str) -> str:
    """Start the provider, and return the version that it reports over gRPC.

    Returns an empty string if the provider does not answer.
    """
    with subprocess.Popen(
        [binary], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        time_limit = threading.Timer(_TIMEOUT_S, process.kill)
        time_limit.start()
        try:
            assert process.stdout is not None
            with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
                plugin = ResourceProviderStub(channel).GetPluginInfo(Empty(), timeout=_TIMEOUT_S)
                return str(plugin.version).removeprefix("v")
        except (OSError, ValueError, grpc.RpcError):
            return ""
        finally:
            time_limit.cancel()
            process.kill()
