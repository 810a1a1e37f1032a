"""The check of the warm engine in `tenancy doctor`."""

from importlib.metadata import version
from pathlib import Path
from typing import cast

import pytest

from cli.connection import Connection
from cli.doctor.pulumi_state import check_engine


@pytest.mark.parametrize(
    ("variables", "level", "message"),
    [
        ({"TENANCY_ENGINE_BINARY": "fitting"}, "ok", f"version {version('pulumi')}"),
        (
            {"TENANCY_ENGINE_BINARY": "missing"},
            "warning",
            "the program tenancy-engine is not installed. The watcher uses the Pulumi CLI, which is slower",
        ),
        (
            {"TENANCY_ENGINE_BINARY": "missing", "PULUMI_BACKEND_URL": ""},
            "ok",
            "the program tenancy-engine is not installed. This is correct if the watcher runs on another",
        ),
        (
            {"TENANCY_ENGINE_BINARY": "other"},
            "warning",
            "tenancy-engine has version 1.2.3, but the Python package",
        ),
        ({"TENANCY_ENGINE_BINARY": "broken"}, "warning", "tenancy-engine cannot be started: "),
        ({"TENANCY_ENGINE": "cli"}, "ok", "not used, because TENANCY_ENGINE is cli"),
    ],
)
def test_unusable_warm_engine_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], level: str, message: str
) -> None:
    scripts = {"fitting": f"echo v{version('pulumi')}", "other": "echo v1.2.3", "broken": "exit 1"}
    for name, text in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file:///backend")
    for name, value in variables.items():
        monkeypatch.setenv(name, f"./{value}" if name == "TENANCY_ENGINE_BINARY" else value)
    (finding,) = check_engine(cast("Connection", None))
    assert (finding.level, finding.message[: len(message)]) == (level, message)
