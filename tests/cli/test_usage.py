"""`tenancy usage` prints the quotas and the usage of tenants.

It reads them from the watcher or from its database.
"""

import csv
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request

from embedded.controlplane.loopback import HOST
from tests.cli.conftest import Completed
from tests.commandline import run_tenancy
from watcher.http import serve_http
from watcher.page.usage_route import UsageRoute
from watcher.usage.hours import Series
from watcher.usage.store import UsageStore

NOON = 1_800_000_000 // 3600 * 3600
GIB = 2**30
# A period of time that contains all records.
TIMES = ("--since", "2027-01-15T00:00Z", "--until", "2027-01-16T00:00Z")
FIGURES = {
    Series("acme", "tenant-acme-a", "cpu"): (0.5, 2.0),
    Series("acme", "tenant-acme-b", "cpu"): (1.0, 2.0),
    Series("acme", "tenant-acme-b", "memory"): (0.25 * GIB, GIB),
    Series("other", "tenant-other", "pods"): (3.0, 0.0),
}


@pytest.fixture
def store(tmp_path: Path) -> UsageStore:
    store = UsageStore(tmp_path / "usage.db")
    for minute in range(0, 61, 2):
        store.record(NOON + minute * 60, FIGURES)
    return store


@pytest.fixture
def watcher(store: UsageStore) -> Iterator[str]:
    """The URL of an HTTP server that serves the recorded usage."""

    async def admit(request: Request, _verb: str, _tenant: str) -> str:
        return request.headers.get("authorization", "")

    server = serve_http(HOST, 0, {}, {}, [UsageRoute(store, admit).route])
    yield f"http://{HOST}:{server.server_port}/"
    server.shutdown()


def tenancy(*arguments: str, **environment: str) -> Completed:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENANCY_")}
    return run_tenancy("usage", *arguments, environment={**kept, **environment})


def lines(result: Completed) -> list[list[str]]:
    assert result.returncode == 0, result.stderr
    return [line.split() for line in result.stdout.splitlines()]


def test_table_has_the_sums_of_each_tenant(store: UsageStore) -> None:
    header, *rows, _, period = lines(tenancy(*TIMES, "--db", str(store.path)))
    assert header == ["TENANT", "RESOURCE", "QUOTA", "USED", "UNIT", "SHARE", "RECORDED"]
    assert rows == [
        ["acme", "cpu", "4.00", "1.50", "CPU-hours", "38%", "1.0", "h"],
        ["acme", "memory", "1.00", "0.25", "GiB-hours", "25%", "1.0", "h"],
        ["other", "pods", "0.00", "3.00", "pod-hours", "-", "1.0", "h"],
    ]
    assert period == ["2027-01-15T00:00+00:00", "to", "2027-01-16T00:00+00:00"]


def test_table_of_one_tenant_has_its_namespaces(store: UsageStore) -> None:
    _, *rows, _, _ = lines(tenancy("acme", *TIMES, "--db", str(store.path)))
    assert [row[:4] for row in rows] == [
        ["tenant-acme-a", "cpu", "2.00", "0.50"],
        ["tenant-acme-b", "cpu", "2.00", "1.00"],
        ["tenant-acme-b", "memory", "1.00", "0.25"],
    ]


def test_csv_has_every_namespace_by_itself(store: UsageStore) -> None:
    result = tenancy(*TIMES, "--db", str(store.path), "-o", "csv")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert len(rows) == 4
    assert rows[1] == {
        "since": "2027-01-15T00:00:00+00:00",
        "until": "2027-01-16T00:00:00+00:00",
        "tenant": "acme",
        "namespace": "tenant-acme-b",
        "resource": "cpu",
        "unit": "CPU-hours",
        "quota_hours": "2.0",
        "used_hours": "1.0",
        "recorded_hours": "1.0",
    }


def test_watcher_tells_the_same_as_its_file(store: UsageStore, watcher: str) -> None:
    by_file = tenancy(*TIMES, "--db", str(store.path), "-o", "json")
    by_watcher = tenancy(*TIMES, "--watcher", watcher, "-o", "json")
    by_variable = tenancy(*TIMES, "-o", "json", TENANCY_PAGE=watcher, TENANCY_TOKEN="abc")
    assert by_file.stdout == by_watcher.stdout == by_variable.stdout
    assert len(json.loads(by_file.stdout)["rows"]) == 4


def test_day_without_a_zone_is_this_machines_even_when_it_has_23_hours(store: UsageStore) -> None:
    times, zone = ("--since", "2027-03-28", "--until", "2027-03-29"), "CET-1CEST,M3.5.0,M10.5.0/3"
    report = json.loads(tenancy(*times, "--db", str(store.path), "-o", "json", TZ=zone).stdout)
    assert (report["since"], report["until"]) == ("2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z")
    *_, period = lines(tenancy(*TIMES, "--db", str(store.path), TZ=zone))
    assert period == ["2027-01-15T01:00+01:00", "to", "2027-01-16T01:00+01:00"]


def test_time_without_a_record_is_said_to_have_none(store: UsageStore) -> None:
    result = tenancy("--since", "12h", "--until", "10m", "--db", str(store.path))
    assert result.stdout.startswith("No usage is recorded from ")
    result = tenancy("nobody", *TIMES, "--db", str(store.path))
    assert result.stdout.startswith("No usage of tenant nobody is recorded from 2027-01-15T00:00+00:00 to ")


def test_record_of_less_than_an_hour_is_told_in_minutes(tmp_path: Path) -> None:
    store = UsageStore(tmp_path / "new.db")
    for minute in (0, 1, 2):
        store.record(NOON + minute * 60, FIGURES)
    _, row, *_ = lines(tenancy(*TIMES, "--db", str(store.path)))
    assert row[-2:] == ["2", "min"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "no source of usage data: set --watcher"),
        (("--db", "/nowhere/usage.db"), "/nowhere/usage.db: nothing is recorded there yet"),
        (("--db", "x", "--since", "soon"), "'soon' is not a valid time; use a duration before now"),
        (("--db", "x", "--since", "-3d"), "'-3d' is not a valid time; use a duration before now"),
        (("--db", "x", "--since", "1h", "--until", "2h"), "'1h' must be before --until ('2h')"),
        (("--watcher", "foo"), "foo cannot be reached: Invalid URL"),
    ],
)
def test_problem_is_told_with_what_to_do(arguments: tuple[str, ...], problem: str) -> None:
    result = tenancy(*arguments)
    assert result.returncode == 1
    assert problem in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.stderr


def test_watcher_that_does_not_answer_is_told() -> None:
    with socket.socket() as silent:
        # The socket is bound but does not listen. So no other process can use the port, and connections are
        # refused.
        silent.bind((HOST, 0))
        address = f"http://{HOST}:{silent.getsockname()[1]}"
        result = tenancy("--watcher", address)
    assert result.returncode == 1
    assert result.stderr == (
        f"error: {address} does not answer: check that the watcher is running, and that its page has this "
        "URL\n"
    )


def test_address_of_something_else_is_told(watcher: str) -> None:
    result = tenancy("--watcher", f"{watcher}elsewhere")
    assert result.returncode == 1
    assert "not a watcher's page (HTTP 404)" in result.stderr
