"""An instance gets some tools at startup and the other tools later. It gets each tool exactly once."""

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from rich.console import Console

from embedded.errors import SetupFailed
from embedded.run import later_tools as later
from embedded.run.foreground import TenantDisplay
from embedded.run.later_tools import (
    SHELL_TOOLS,
    ensure_startup_tools,
    later_tools,
    preparing_text,
    startup_tools,
)
from embedded.run.supervisor import Supervisor
from embedded.toolchain.tools import ENGINE, TOOLS


def test_instance_with_a_control_plane_finally_uses_all_tools() -> None:
    names = [*startup_tools(None), *later_tools(None)]
    assert len(names) == len(set(names))
    assert set(names) == set(TOOLS)


def test_instance_on_a_cluster_of_the_user_needs_no_control_plane() -> None:
    assert set(startup_tools("")) == {"kubectl", "pulumi", "pulumi-resource-kubernetes"}
    assert later_tools("") == (ENGINE, "pulumi-language-python")


@pytest.mark.parametrize("context", [None, ""])
def test_shell_has_its_tools_at_the_start_or_later(context: str | None) -> None:
    assert set(SHELL_TOOLS) <= {*startup_tools(context), *later_tools(context)}


def test_instance_starts_with_the_cli_if_only_the_build_of_the_engine_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    present = {name: Path(name) for name in startup_tools(None)}

    def ensure_tools(names: object, *, built_together: list[str]) -> dict[str, Path]:
        assert (names, built_together) == (startup_tools(None), [ENGINE])
        raise SetupFailed("tenancy-engine could not be built.")

    monkeypatch.setattr(later, "ensure_tools", ensure_tools)
    monkeypatch.setattr(later, "present_tools", lambda _: present)
    assert ensure_startup_tools(None) == present
    assert capsys.readouterr().err == (
        "tenancy-engine could not be built.\nThe watcher uses the Pulumi CLI instead.\n"
    )
    del present["pulumi"]
    with pytest.raises(SetupFailed):
        ensure_startup_tools(None)


def test_text_mentions_the_cli_only_if_the_engine_is_missing() -> None:
    log = Path("tools.log")
    assert preparing_text([ENGINE], log) == (
        "Still being prepared: tenancy-engine. The watcher uses the Pulumi CLI until then."
        " Progress: tools.log"
    )
    assert "CLI" not in preparing_text(["kubectl"], log)


def test_text_mentions_pods_only_if_they_stay_pending() -> None:
    log = Path("tools.log")
    assert preparing_text(["kubectl", "kwok"], log) == (
        "Still being prepared: kubectl, kwok. Pods stay Pending until then. Progress: tools.log"
    )
    assert "Pods" not in preparing_text(["pulumi-language-python"], log)


@pytest.mark.parametrize("progress", ["Building the tools: 42 % (kwok, 1 of 1), about 1 min left, 40 s", ""])
def test_progress_is_shown_below_the_tenants_while_tools_are_prepared(progress: str) -> None:
    supervisor = SimpleNamespace(
        check_processes=lambda *_, **__: None,
        cluster=SimpleNamespace(list=lambda *_: ([], "")),
        later_tools_progress=progress,
    )
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    view = TenantDisplay(cast(Supervisor, supervisor), console)
    with view.live_display():
        view.refresh()
    table, _, below = screen.getvalue().partition("REASON")
    assert "NAME" in table
    assert progress in below
    assert ("Building the tools" in below) is bool(progress)
