"""The columns and rows of the table of tenants that `tenancy list` and `./dev run` print."""

from typing import Final

from rich.text import Text

from cli.output import PHASE_STYLES
from watcher.view import TenantRow

TENANT_COLUMNS: Final = ("NAME", "PHASE", "PLAN", "NAMESPACES", "CPU", "MEMORY", "PODS", "REASON")


def tenant_cells(row: TenantRow) -> tuple[str | Text, ...]:
    bars = {bar.resource: f"{bar.used}/{bar.hard}" for bar in row.quotas}
    phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
    quotas = (bars.get(resource, "-") for resource in ("cpu", "memory", "pods"))
    return row.name, phase, row.plan, str(row.namespaces), *quotas, _reasons(row)


def _reasons(row: TenantRow) -> str:
    """The reason why the tenant is not ready, and the states that a ready tenant can have too."""
    states = (("Paused", row.is_paused), ("Cordoned", row.is_cordoned), ("Drifted", row.is_drifted))
    active_states = [state for state, is_active in states if is_active and state != row.reason]
    return ", ".join([row.reason, *active_states] if row.reason else active_states)
