"""`tenancy usage`: what tenants had and used over time, for people and for whoever writes the bills.

Asks the watcher, or reads the file that the watcher records in.
"""

import csv
import io
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import requests
import typer
from pydantic import ValidationError

from cli.completion import tenant_names
from cli.output import Format, console, print_data, print_table
from cli.times import parse_time
from tenancy.base.errors import TenancyError
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from watcher.usage.hours import UsageReport, UsageRow, tenant_rows
from watcher.usage.store import UsageStore

_TIMEOUT_S: Final = 60
_TOKEN: Final = "TENANCY_TOKEN"


class UsageFormat(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class WatcherUnreachable(TenancyError):
    reason = "WatcherUnreachable"


def usage(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="One tenant, by namespace. Default: all.", autocompletion=tenant_names
        ),
    ] = None,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="From when on: 30d, 12h, or a time as 2026-01-31.")
    ] = "30d",
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Until when, in the same forms. Default: now.")
    ] = None,
    watcher: Annotated[
        str | None,
        typer.Option(metavar="URL", envvar="TENANCY_PAGE", help="The address of the watcher's page."),
    ] = None,
    database: Annotated[
        Path | None, typer.Option("--db", help="The watcher's --usage-db, to read it without the watcher.")
    ] = None,
    output: Annotated[
        UsageFormat, typer.Option("--output", "-o", help="A table of sums, or each namespace by itself.")
    ] = UsageFormat.TABLE,
) -> None:
    """Show quota-hours and used-hours of tenants: what they had, and what they made of it.

    Times in which the watcher did not run are on no record, and count for nothing. Where the page wants a
    login, $TENANCY_TOKEN is the token.
    """
    now = datetime.now(UTC)
    begin, end = _time(since, now, "--since"), _time(until, now, "--until") if until else now
    if begin >= end:
        raise typer.BadParameter(f"{since!r} is not before the end", param_hint="--since")
    if database:
        report = UsageStore(database).report(begin, end, name or "")
    elif watcher:
        report = _asked(watcher, begin, end, name or "")
    else:
        raise WatcherUnreachable(
            "whom to ask? Give --watcher the address of the watcher's page, or --db its file; in its pod: "
            f"kubectl -n {SYSTEM_NAMESPACE} exec {WATCHER}-0 -- tenancy usage --db /var/lib/tenancy/usage.db"
        )
    if output is UsageFormat.CSV:
        typer.echo(_csv(report), nl=False)
    elif output is UsageFormat.JSON:
        print_data(report.model_dump(by_alias=True, mode="json"), Format.JSON)
    else:
        _print(report, name)


def _time(text: str, now: datetime, option: str) -> datetime:
    try:
        return parse_time(text, now).astimezone(UTC)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _asked(url: str, since: datetime, until: datetime, tenant: str) -> UsageReport:
    question = {"since": since.isoformat(), "until": until.isoformat(), "tenant": tenant}
    token = os.environ.get(_TOKEN)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        answer = requests.get(f"{url.rstrip('/')}/api/usage", question, headers=headers, timeout=_TIMEOUT_S)
    except requests.RequestException as error:
        raise WatcherUnreachable(f"{url} {_fault(error)}") from None
    if answer.status_code == requests.codes.unauthorized:
        raise WatcherUnreachable(
            f"{url} wants to know who you are: set {_TOKEN}, for example to what "
            "`kubectl create token ACCOUNT` gives"
        )
    try:
        if answer.ok:
            return UsageReport.model_validate_json(answer.content)
        problem = str(answer.json()["message"])
    except (ValidationError, ValueError, KeyError, TypeError):
        problem = f"this is no watcher's page (HTTP {answer.status_code}); the watcher serves it with --page"
    raise WatcherUnreachable(f"{url}: {problem}")


def _fault(error: requests.RequestException) -> str:
    has_answered = isinstance(error, requests.exceptions.SSLError | requests.exceptions.ProxyError)
    if isinstance(error, requests.ConnectionError) and not has_answered:
        return "does not answer: does the watcher run, and serve its page there?"
    return f"can't be asked: {error}"


def _csv(report: UsageReport) -> str:
    """A line for each row, with the time that it is about. Names are DNS labels: none is a formula."""
    period = (report.since.isoformat(timespec="seconds"), report.until.isoformat(timespec="seconds"))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("since", "until", *UsageRow.model_fields))
    writer.writerows((*period, *row.model_dump().values()) for row in report.rows)
    return text.getvalue()


def _print(report: UsageReport, tenant: str | None) -> None:
    begin, end = (time.astimezone().isoformat(timespec="minutes") for time in (report.since, report.until))
    if not report.rows:
        whose = f"of tenant {tenant} " if tenant else ""
        console.print(
            f"Nothing {whose}is on record from {begin} to {end}. The watcher records once a minute.",
            soft_wrap=True,
        )
        return
    is_by_namespace = tenant is not None
    title = "NAMESPACE" if is_by_namespace else "TENANT"
    rows = report.rows if is_by_namespace else tenant_rows(report.rows)
    print_table(
        (title, "RESOURCE", "QUOTA", "USED", "UNIT", "SHARE", "RECORDED"),
        [_cells(row, row.namespace if is_by_namespace else row.tenant) for row in rows],
    )
    console.print(f"\n{begin} to {end}")


def _cells(row: UsageRow, name: str) -> Sequence[str]:
    share = f"{row.used_hours / row.quota_hours:.0%}" if row.quota_hours else "-"
    return (
        name,
        row.resource,
        f"{row.quota_hours:.2f}",
        f"{row.used_hours:.2f}",
        row.unit,
        share,
        _duration(row.recorded_hours),
    )


def _duration(hours: float) -> str:
    return f"{hours:.1f} h" if hours >= 1 else f"{hours * 60:.0f} min"
