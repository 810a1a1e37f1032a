"""Stacks in each kind of state backend."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embedded.toolchain.resolver import path_with
from stacks.command import PulumiProcess
from stacks.operation import EngineName
from stacks.stack import Stacks
from tests.state_backends import Scheme, StateBackend, StateServers

OpenStacks = Callable[..., Stacks]

# Runs a test on each kind of backend. With S3, the test is a long test: the commands access a bucket and a
# database in the same way.
on_each_backend = pytest.mark.parametrize(
    "scheme", [Scheme.FILE, Scheme.POSTGRES, pytest.param(Scheme.S3, marks=pytest.mark.long)]
)
# Runs a test with each engine on each kind of backend. The CLI takes longer, so these tests are long tests.
# `tests/stacks` covers the CLI with a file backend.
on_each_backend_and_engine = pytest.mark.parametrize(
    ("scheme", "engine"),
    [
        pytest.param(scheme, engine, marks=[pytest.mark.long] if engine is EngineName.CLI else [])
        for scheme in Scheme
        for engine in EngineName
    ],
)


@pytest.fixture
def scheme() -> Scheme:
    """The kind of backend. Tests with the mark `on_each_backend` replace the value."""
    return Scheme.FILE


@pytest.fixture
def backend(
    scheme: Scheme,
    servers: StateServers,
    tools: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> StateBackend:
    """An empty backend. The environment variables of this process select it, and contain its credentials."""
    created = servers.new(scheme, tmp_path)
    environment = {
        **created.environment,
        "PATH": path_with(tools),
        "PULUMI_HOME": str(tmp_path / "pulumi"),
        "PULUMI_CONFIG_PASSPHRASE": "canary-of-the-passphrase",
        "PULUMI_BACKEND_URL": created.url,
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return created


@pytest.fixture
def open_stacks(backend: StateBackend, tmp_path: Path) -> Iterator[OpenStacks]:
    """A function that opens the stacks in the backend. Each call closes the stacks of the earlier call."""
    opened: list[Stacks] = []

    def close() -> None:
        while opened:
            opened.pop().close()

    def open_again(engine: EngineName, url: str = "") -> Stacks:
        close()
        # As after a restart in another pod, the folder for running operations is new.
        stacks = Stacks(url or backend.url, Path(tempfile.mkdtemp(dir=tmp_path)), PulumiProcess(120), engine)
        stacks.prepare()
        opened.append(stacks)
        return stacks

    yield open_again
    close()
