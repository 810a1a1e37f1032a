"""Prints the sections of `tenancy show` that come from the Tenant and its objects."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from rich.text import Text

from cli.output import PHASE_STYLES, console, print_table
from cli.rights.permissions import Right
from cli.times import age, display_time
from tenancy.base.kinds import RESOURCE_QUOTA, ROLE_BINDING, api_group
from tenancy.base.names import stack_name
from tenancy.base.reasons import Reason
from watcher.view import NamespaceView, QuotaBar, TenantRow, TenantView

_BAR_WIDTH: Final = 20
# The colours of a quota bar, with the lowest ratio of used quota to total quota for each colour.
_COLOURS: Final = ((0.9, "red"), (0.7, "yellow"), (0.0, "green"))


def print_tenant(view: TenantView, missing: Sequence[Right]) -> None:
    """Print the sections about the tenant. `missing` are the rights that the user lacks.

    A section that needs one of these rights contains only `unknown` and the right.
    """
    row, unknown = view.row, {right.kind: f"you cannot {right}" for right in missing}
    title = Text(row.name, style="bold")
    if row.display_name:
        title += Text(f"  {row.display_name}")
    console.print(title)
    for field, value in _header(row):
        console.print(Text(f"{field:<8}").append_text(value))
    print_section(
        "Quotas",
        ("RESOURCE", "USED/HARD", "", ""),
        [_bar(bar) for bar in row.quotas],
        unknown.get(RESOURCE_QUOTA, ""),
    )
    print_section(
        "Namespaces",
        ("NAME", "PURPOSE", "READY", "QUOTAS"),
        [_namespace(namespace) for namespace in view.namespaces],
    )
    print_section(
        "Conditions",
        ("TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"),
        [
            (
                condition["type"],
                condition["status"],
                condition["reason"],
                display_time(condition["lastTransitionTime"]),
                condition.get("message", ""),
            )
            for condition in view.conditions
        ],
    )
    print_section(
        "Access",
        ("KIND", "NAME", "ROLE", "NAMESPACES"),
        [(access.kind, access.name, access.role, ", ".join(access.namespaces)) for access in view.access],
        unknown.get(ROLE_BINDING, ""),
    )


def _header(row: TenantRow) -> Iterable[tuple[str, Text]]:
    flags = (
        ("paused", row.is_paused),
        ("spec not applied", row.is_held_back),
        ("cordoned", row.is_cordoned),
        ("drifted", row.is_drifted),
    )
    states = [state for state, is_set in flags if is_set]
    phase = Text(row.phase, style=PHASE_STYLES.get(row.phase, ""))
    yield "Phase", phase.append("".join(f", {state}" for state in states), style="yellow")
    if row.message:
        yield "Reason", Text(f"{row.reason}: {row.message}")
    yield "Plan", Text(row.plan)
    if row.in_use.cpu and row.in_use.memory:
        yield "In use", Text(f"{row.in_use.cpu} CPU, {row.in_use.memory} memory")
    yield "Age", Text(age(datetime.fromisoformat(row.created)))
    yield "Group", Text(api_group(row.api_version))
    if row.reason != Reason.NAME_TAKEN:
        yield "Stack", Text(stack_name(row.name))


def print_section(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Text]], problem: str = ""
) -> None:
    """Print a title and a table. If `problem` is not empty, print `unknown: PROBLEM` instead of the table."""
    console.print(Text(f"\n{title}", style="bold"))
    if problem:
        console.print(Text(f"unknown: {problem}"))
    elif rows:
        print_table(columns, rows)
    else:
        console.print("none")


def _bar(bar: QuotaBar) -> tuple[str | Text, ...]:
    colour = next(colour for ratio, colour in _COLOURS if bar.ratio >= ratio)
    filled = min(_BAR_WIDTH, round(bar.ratio * _BAR_WIDTH))
    blocks = Text("█" * filled + "░" * (_BAR_WIDTH - filled), style=colour)
    return bar.resource, f"{bar.used}/{bar.hard}", blocks, f"{bar.ratio:.0%}"


def _namespace(namespace: NamespaceView) -> tuple[str | Text, ...]:
    ready = Text("yes", style="green") if namespace.is_ready else Text("no", style="bold red")
    quotas = ", ".join(f"{bar.resource} {bar.used}/{bar.hard}" for bar in namespace.quotas)
    return namespace.name, namespace.purpose or "-", ready, quotas
