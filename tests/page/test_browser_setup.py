"""`ensure_browser` finds a browser for the tests. An environment variable can select another browser."""

from pathlib import Path

import pytest

from embedded.errors import SetupFailed
from embedded.toolchain.browser import VARIABLE, ensure_browser

# The function without its cache, which could contain the result of an earlier call.
find_browser = ensure_browser.__wrapped__


def put_program(folder: Path, name: str, code: int) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    return program


def test_named_browser_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_browser = put_program(tmp_path, "my-own", 0)
    monkeypatch.setenv(VARIABLE, str(own_browser))
    assert find_browser() == own_browser


def test_named_browser_that_does_not_run_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(put_program(tmp_path, "my-own", 1)))
    with pytest.raises(SetupFailed, match=f"{VARIABLE}=.*my-own is not a working Chromium"):
        find_browser()


def test_installed_browser_that_does_not_run_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, "chromium", 1)
    working = put_program(tmp_path, "google-chrome", 0)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() == working
