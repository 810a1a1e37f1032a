"""`./dev run` in the foreground: applies the sample tenants, and shows all tenants.

On a terminal, the command shows a table and keeps it up to date. If the output is not a terminal, the command
prints a line for each change.
"""

import time
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import NoReturn

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from cluster.errors import ClusterError
from cluster.tenants import read_quotas, read_tenants
from embedded.run.environment_variables import connection_text
from embedded.run.later_tools import ensure_startup_tools, later_tools
from embedded.run.samples import SampleOutcome, apply_samples, sample_manifests, sample_outcome
from embedded.run.state_folder import StateFolder
from embedded.run.supervisor import Supervisor
from embedded.run.tenant_table import RowKey, change_lines, tenant_rows, tenant_table, tenant_table_svg
from embedded.toolchain.resolver import present_tools
from tenancy.base.manifest import Manifest
from watcher.view import TenantRow

REFRESH_INTERVAL_S = 0.5


def run_in_foreground(
    folder: StateFolder, context: str | None, *, is_once: bool, timeout_s: float, picture: Path | None = None
) -> int:
    """Run `./dev run` in the foreground, and return the exit code.

    Without `is_once`, this function returns after Ctrl-C. With `is_once`, it returns after the first of these
    events:

    - All sample tenants are Active.
    - A sample tenant has failed.
    - The time `timeout_s` has passed.

    With `is_once` and `picture`, the function then writes the table of tenants as SVG to the file `picture`.
    """
    console = Console(highlight=False)
    tools = ensure_startup_tools(context)
    if not is_once:
        tools |= present_tools(later_tools(context))
    with Supervisor(folder, tools, context=context) as supervisor:
        console.print(connection_text(supervisor.record), markup=False, soft_wrap=True)
        samples = apply_samples(supervisor.cluster, sample_manifests())
        if is_once:
            code = await_samples(supervisor, samples, console, timeout_s=timeout_s)
            if picture:
                picture.parent.mkdir(parents=True, exist_ok=True)
                rows = tenant_rows(read_tenants(supervisor.cluster), read_quotas(supervisor.cluster))
                picture.write_text(tenant_table_svg(rows.values()), encoding="utf-8")
            return code
        console.print("Press Ctrl-C to stop. The state is kept for the next ./dev run.")
        with suppress(KeyboardInterrupt):
            show_tenants(supervisor, samples, console, timeout_s=timeout_s)
    return 0


class TenantDisplay:
    """Shows the tenants of the cluster on a console.

    Each call of `refresh` also checks the processes that `./dev run` has started.
    """

    def __init__(self, supervisor: Supervisor, console: Console) -> None:
        self._supervisor = supervisor
        self._console = console
        self._rows: dict[RowKey, TenantRow] = {}
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def live_display(self) -> AbstractContextManager[object]:
        """A context manager that shows a table, which `refresh` updates in place.

        It does nothing if the console is not a terminal.
        """
        return self._live or nullcontext()

    def refresh(self) -> list[Manifest] | None:
        """Check the processes that `./dev run` has started, then show the tenants.

        Returns the tenants, or None if they cannot be listed.
        """
        self._supervisor.check_processes(self.print_line, timeout_s=REFRESH_INTERVAL_S)
        try:
            tenants = read_tenants(self._supervisor.cluster)
            quotas = read_quotas(self._supervisor.cluster)
        except ClusterError as error:
            # Do not raise the error, because a cluster of the user may become reachable again. If the
            # embedded control plane has exited, the next call of check_processes raises an error.
            self.print_line(f"cannot list the tenants: {error}")
            return None
        rows = tenant_rows(tenants, quotas)
        if self._live:
            parts: list[RenderableType] = [tenant_table(rows.values(), self._console.width)]
            if progress := self._supervisor.later_tools_progress:
                parts.append(Text(progress, style="dim"))
            self._live.update(Group(*parts), refresh=True)
        else:
            for line in change_lines(self._rows, rows):
                self.print_line(line)
        self._rows = rows
        return tenants

    def print_line(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


def show_tenants(
    supervisor: Supervisor, samples: list[Manifest], console: Console, *, timeout_s: float
) -> NoReturn:
    """Show the tenants until a signal arrives.

    A background process downloads or builds the later tools. It starts after the first of these events:

    - All sample tenants are Active.
    - A sample tenant has failed.
    - The time `timeout_s` has passed.

    If the process started earlier, it would slow down the creation of the sample tenants.
    """
    view = TenantDisplay(supervisor, console)
    deadline = time.monotonic() + timeout_s
    is_settled = False
    with view.live_display():
        while True:
            tenants = view.refresh()
            if not is_settled:
                outcome = sample_outcome(samples, samples if tenants is None else tenants)
                is_settled = not outcome.waiting or bool(outcome.failed) or time.monotonic() > deadline
                if is_settled:
                    supervisor.prepare_later_tools(view.print_line)


def await_samples(
    supervisor: Supervisor, samples: list[Manifest], console: Console, *, timeout_s: float
) -> int:
    """Wait until all sample tenants are Active, print the outcome, and return the exit code.

    The exit code is 0 if all sample tenants are Active. It is 1 if one of them has failed, or if `timeout_s`
    has passed.
    """
    deadline = time.monotonic() + timeout_s
    view = TenantDisplay(supervisor, console)
    outcome = sample_outcome(samples, samples)
    with view.live_display():
        while outcome.waiting and not outcome.failed and time.monotonic() < deadline:
            tenants = view.refresh()
            if tenants is not None:
                outcome = sample_outcome(samples, tenants)
    console.print(outcome_text(outcome, len(samples), timeout_s), markup=False, soft_wrap=True)
    return 1 if outcome.failed or outcome.waiting else 0


def outcome_text(outcome: SampleOutcome, count: int, timeout_s: float) -> str:
    if outcome.failed:
        return "\n".join(f"failed: {reason}" for reason in outcome.failed)
    if outcome.waiting:
        return "\n".join(f"not Active after {timeout_s:g} s: {reason}" for reason in outcome.waiting)
    return f"all {count} sample tenants are Active"
