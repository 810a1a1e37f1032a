"""A session in the foreground: applies the samples, and shows the tenants while they change.

Called by `./dev run`. A terminal gets a table that renews itself,
anything else a line per change.
"""

import time
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import NoReturn

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from cluster.client import ClusterError
from embedded.run.environment_variables import reach_text
from embedded.run.later_tools import first_tools, later_tools
from embedded.run.samples import Verdict, all_tenants, apply_samples, sample_manifests, verdict
from embedded.run.state_folder import StateFolder
from embedded.run.supervisor import Supervisor
from embedded.run.tenant_table import TenantRow, change_lines, rows_of, tenant_picture, tenant_table
from embedded.toolchain.resolver import ensure_tools, present_tools
from tenancy.base.manifest import Manifest

TURN_S = 0.5


def run_in_foreground(
    folder: StateFolder, context: str | None, *, is_once: bool, timeout_s: float, picture: Path | None = None
) -> int:
    """The exit code. Without `is_once` it runs until Ctrl-C."""
    console = Console(highlight=False)
    tools = ensure_tools(first_tools(context))
    if not is_once:
        tools |= present_tools(later_tools(context))
    with Supervisor(folder, tools, context=context) as supervisor:
        console.print(reach_text(supervisor.record), markup=False, soft_wrap=True)
        applied = apply_samples(supervisor.cluster, sample_manifests())
        if is_once:
            code = await_samples(supervisor, applied, console, timeout_s=timeout_s)
            if picture:
                picture.parent.mkdir(parents=True, exist_ok=True)
                picture.write_text(tenant_picture(rows_of(all_tenants(supervisor.cluster))), encoding="utf-8")
            return code
        console.print("Ctrl-C ends the session and keeps its state.")
        with suppress(KeyboardInterrupt):
            show_tenants(supervisor, applied, console, timeout_s=timeout_s)
    return 0


class TenantView:
    """Renewed once a turn; the session's processes are tended meanwhile."""

    def __init__(self, supervisor: Supervisor, console: Console) -> None:
        self._supervisor = supervisor
        self._console = console
        self._rows: dict[tuple[str, str], TenantRow] = {}
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def shown(self) -> AbstractContextManager[object]:
        return self._live or nullcontext()

    def turn(self) -> list[Manifest] | None:
        """The tenants; None when the cluster doesn't answer now."""
        self._supervisor.tend(self.say, timeout_s=TURN_S)
        try:
            tenants = all_tenants(self._supervisor.cluster)
        except ClusterError as error:
            # A dead control plane is said by the next tend, in better words; another cluster may come back.
            self.say(f"the tenants can't be listed: {error}")
            return None
        rows = rows_of(tenants)
        if self._live:
            parts: list[RenderableType] = [tenant_table(rows)]
            if progress := self._supervisor.later_progress:
                parts.append(Text(progress, style="dim"))
            self._live.update(Group(*parts), refresh=True)
        else:
            for line in change_lines(self._rows, rows):
                self.say(line)
        self._rows = {row.key: row for row in rows}
        return tenants

    def say(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


def show_tenants(
    supervisor: Supervisor, applied: list[Manifest], console: Console, *, timeout_s: float
) -> NoReturn:
    """Until a signal ends it. The samples come first: later tools are prepared once they have settled."""
    view = TenantView(supervisor, console)
    deadline = time.monotonic() + timeout_s
    is_settled = False
    with view.shown():
        while True:
            tenants = view.turn()
            if not is_settled:
                result = verdict(applied, applied if tenants is None else tenants)
                is_settled = not result.waiting or bool(result.failed) or time.monotonic() > deadline
                if is_settled:
                    supervisor.get_later_tools(view.say)


def await_samples(
    supervisor: Supervisor, applied: list[Manifest], console: Console, *, timeout_s: float
) -> int:
    """0 when all are Active; 1 when one has failed or time is up, and then says which and why."""
    deadline = time.monotonic() + timeout_s
    view = TenantView(supervisor, console)
    result = verdict(applied, applied)
    with view.shown():
        while result.waiting and not result.failed and time.monotonic() < deadline:
            tenants = view.turn()
            if tenants is not None:
                result = verdict(applied, tenants)
    console.print(outcome_text(result, len(applied), timeout_s), markup=False, soft_wrap=True)
    return 1 if result.failed or result.waiting else 0


def outcome_text(result: Verdict, count: int, timeout_s: float) -> str:
    if result.failed:
        return "\n".join(f"failed: {reason}" for reason in result.failed)
    if result.waiting:
        return "\n".join(f"not Active after {timeout_s:g} s: {reason}" for reason in result.waiting)
    return f"all {count} sample tenants are Active"
