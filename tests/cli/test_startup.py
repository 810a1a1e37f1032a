"""Commands start fast, because each command imports only the modules that it needs.

The tests count imported modules. They do not measure time.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from typer.main import get_command
from typer.models import ArgumentInfo

from cli.command_loader import COMMANDS, load_command
from cli.completion import tenant_names
from cli.main import app
from tests.platform import ROOT, Platform

# A line of `python -X importtime`, which prints the imported modules to standard error.
_IMPORTED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.MULTILINE)
_PULUMI = {"pulumi", "grpc", "google.protobuf"}
_CLUSTER = {"kubernetes.config", "urllib3", "requests", "yaml"}
_MODELS = {"pydantic", "tenancy.base.model", "tenancy.plans", "tenancy.spec.tenant"}
_SERVER = {"uvicorn", "starlette", "prometheus_client"}
# The maximum number of imported modules of the package `kubernetes`. The package has 760 modules for models
# and APIs.
_KUBERNETES_MODULES = 20


def imported_modules(*arguments: str, module: str = "cli.main", **variables: str) -> set[str]:
    """The modules that `tenancy` imports if it runs with these arguments and environment variables."""
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "KUBECONFIG": "/nowhere", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(_IMPORTED.findall(process.stderr))


def completion(line: str) -> Mapping[str, str]:
    """The environment variables that bash sets to complete the last word of the line."""
    position = str(line.count(" "))
    return {"_TENANCY_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": position}


def test_help_imports_neither_libraries_nor_commands() -> None:
    modules = imported_modules("--help")
    assert not modules & {*_PULUMI, *_CLUSTER, *_MODELS, *_SERVER, "structlog"}
    assert not any(module.startswith("cli.commands.") for module in modules)
    assert len(modules) < 450


def test_completion_of_a_command_imports_only_typer() -> None:
    modules = imported_modules(**completion("tenancy sh"))
    assert not modules & {*_PULUMI, *_CLUSTER, *_MODELS, *_SERVER, "structlog", "rich"}
    assert len(modules) < 300


def test_completion_of_a_tenant_imports_only_typer_and_the_client() -> None:
    modules = imported_modules(**completion("tenancy show "))
    assert "kubernetes.config" in modules
    assert not modules & {*_PULUMI, *_MODELS, *_SERVER, "structlog", "rich"}
    assert sum(module.startswith("kubernetes") for module in modules) < _KUBERNETES_MODULES
    assert len(modules) < 700


def test_list_imports_neither_pulumi_nor_a_server(platform: Platform) -> None:
    modules = imported_modules("list", KUBECONFIG=str(platform.admin_kubeconfig))
    assert "kubernetes.config" in modules
    assert not modules & {*_PULUMI, *_SERVER, "tenancy.plans", "tenancy.spec.tenant"}
    assert sum(module.startswith("kubernetes") for module in modules) < _KUBERNETES_MODULES
    assert len(modules) < 900


def test_watcher_imports_no_models_of_the_kubernetes_package() -> None:
    modules = imported_modules("--help", module="watcher")
    assert "kubernetes.config" in modules
    assert sum(module.startswith("kubernetes") for module in modules) < _KUBERNETES_MODULES


def test_other_code_can_import_the_complete_kubernetes_package() -> None:
    program = (
        "import cluster.connection.transport, sys; assert 'kubernetes' not in sys.modules; import kubernetes;"
        "assert kubernetes.client.CoreV1Api().api_client.deserialize;"
        "assert kubernetes.client.ApiClient is not cluster.connection.transport.client.ApiClient;"
        "import kubernetes.client.models as models; assert models.V1Pod is kubernetes.client.V1Pod"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_listed_help_is_that_of_the_command(name: str) -> None:
    group: Any = get_command(app)
    assert group.get_command(None, name).help == load_command(name).help


@pytest.mark.parametrize("name", COMMANDS)
def test_shell_completes_names_if_a_command_has_names_as_arguments(name: str) -> None:
    module, _, function = COMMANDS[name].function.partition(".")
    arguments = argument_hints(getattr(import_module(f"cli.commands.{module}"), function))
    listed = COMMANDS[name].arguments
    if listed is None:
        assert tenant_names not in [completer for _, completer in arguments]
    else:
        assert argument_hints(listed) == arguments


def argument_hints(function: Callable[..., None]) -> list[tuple[bool, object]]:
    """Two values for each argument: whether it accepts several values, and the function that completes it."""
    hints = [hint for hint in get_type_hints(function, include_extras=True).values() if get_args(hint)]
    annotated = [(get_args(hint)[0], info) for hint in hints for info in get_args(hint)[1:]]
    return [
        (get_origin(kind) is list, info.autocompletion)
        for kind, info in annotated
        if isinstance(info, ArgumentInfo)
    ]
