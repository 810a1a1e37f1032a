"""`tenancy usage`: prints the quota and the usage of tenants over a period, for reports and billing.

The data comes from the watcher's HTTP API, or directly from the watcher's database file.
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
from cli.selection.tenants import short_name
from cli.times import parse_time
from cluster.connection.impersonation import NO_IMPERSONATION
from tenancy.base.errors import TenancyError
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER_POD
from watcher.usage.hours import UsageReport, UsageRow, tenant_rows
from watcher.usage.store import UsageStore

_TIMEOUT_S: Final = 60
_TOKEN: Final = "TENANCY_TOKEN"


class UsageFormat(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class WatcherUnreachable(TenancyError):
    """The watcher's URL is missing, the watcher does not answer, or the watcher rejects the request."""

    reason = "WatcherUnreachable"


def usage(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The name of a tenant. The command then shows each namespace of this tenant. Default: show "
            "one sum per tenant.",
            autocompletion=tenant_names,
        ),
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="The start of the period: a time such as 2026-01-31, or an age such as 30d (30 days ago).",
        ),
    ] = "30d",
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="The end of the period, in the same format as --since. Default: now.",
        ),
    ] = None,
    watcher: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="TENANCY_PAGE",
            help="Get the data from the watcher's web page at this URL.",
        ),
    ] = None,
    database: Annotated[
        Path | None,
        typer.Option(
            "--db",
            envvar="TENANCY_USAGE_DB",
            help="Read the data from this database file. The watcher's option --usage-db sets the path of "
            "the file.",
        ),
    ] = None,
    output: Annotated[
        UsageFormat,
        typer.Option("--output", "-o", help="The output format. CSV and JSON list every namespace."),
    ] = UsageFormat.TABLE,
) -> None:
    """Show the quotas and the usage of tenants in a period.

    The column QUOTA shows the quota multiplied by the time in hours. The column USED shows the used amount
    multiplied by the time in hours. For example, a quota of 4 CPUs for 2 hours is 8 CPU-hours.

    The watcher records the data. While the watcher is not running, it records nothing, and the report counts
    zero for this time. The column RECORDED shows for how much of the period records exist.

    The command needs --watcher or --db. If the watcher's web page requires a login, set the environment
    variable TENANCY_TOKEN to a token.
    """
    if context.obj.impersonation != NO_IMPERSONATION:
        raise typer.BadParameter(
            "`tenancy usage` cannot impersonate a user, because it sends no requests to the API server",
            param_hint="--as",
        )
    name = short_name(name) if name else None
    now = datetime.now(UTC)
    begin, end = _time(since, now, "--since"), _time(until, now, "--until") if until else now
    if begin >= end:
        raise typer.BadParameter(
            f"{since!r} must be before --until ({until or 'now'!r})", param_hint="--since"
        )
    if database:
        report = UsageStore(database).report(begin, end, name or "")
    elif watcher:
        report = _fetch_report(watcher, begin, end, name or "")
    else:
        raise WatcherUnreachable(
            "no source of usage data: set --watcher to the URL of the watcher's page, or --db to the "
            "watcher's database file. To run the command in the watcher's pod: "
            f"kubectl -n {SYSTEM_NAMESPACE} exec {WATCHER_POD} -- tenancy usage"
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


def _fetch_report(url: str, since: datetime, until: datetime, tenant: str) -> UsageReport:
    query = {"since": since.isoformat(), "until": until.isoformat(), "tenant": tenant}
    token = os.environ.get(_TOKEN)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        response = requests.get(f"{url.rstrip('/')}/api/usage", query, headers=headers, timeout=_TIMEOUT_S)
    except requests.RequestException as error:
        raise WatcherUnreachable(f"{url} {_problem(error)}") from None
    if response.status_code == requests.codes.unauthorized:
        raise WatcherUnreachable(
            f"{url} requires a login: set {_TOKEN} to a token, for example to the output of "
            "`kubectl create token ACCOUNT`"
        )
    try:
        if response.ok:
            return UsageReport.model_validate_json(response.content)
        problem = str(response.json()["message"])
    except (ValidationError, ValueError, KeyError, TypeError):
        problem = (
            f"not a watcher's page (HTTP {response.status_code}); use the address that is set with the "
            "watcher's option --page"
        )
    raise WatcherUnreachable(f"{url}: {problem}")


def _problem(error: requests.RequestException) -> str:
    has_answered = isinstance(error, requests.exceptions.SSLError | requests.exceptions.ProxyError)
    if isinstance(error, requests.ConnectionError) and not has_answered:
        return "does not answer: check that the watcher is running, and that its page has this URL"
    return f"cannot be reached: {error}"


def _csv(report: UsageReport) -> str:
    """The report as CSV.

    All names are DNS labels. A DNS label cannot be a spreadsheet formula, so the names need no escaping.
    """
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
            f"No usage {whose}is recorded from {begin} to {end}. The watcher records usage once a minute.",
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
