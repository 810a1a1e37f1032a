"""`python -m watcher`: the watcher as a process, in a pod or on a laptop."""

import argparse
import math
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

import structlog
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.routing import BaseRoute

from cluster.client import Cluster, ClusterError
from cluster.plans_in_force import ConfigMapPlans, FilePlans, LivePlans
from stacks.command import PulumiProcess
from stacks.errors import StackError, without_secrets
from stacks.stack import Stacks
from tenancy.base.errors import PlansError
from tenancy.plans import SHIPPED_PLANS
from watcher.app import Watcher
from watcher.http import Check, Page, serve_http
from watcher.log import configure_log
from watcher.page.auth import Reviews
from watcher.page.live_feed import Feed
from watcher.page.login import Login
from watcher.page.page_data import Board
from watcher.page.request_checks import is_loopback
from watcher.page.routes import PageRoutes
from watcher.periods import DEFAULT_PERIODS, Periods
from watcher.usage.store import UsageStore

log = structlog.get_logger(__name__)

_USAGE_FILE: Final = "usage.db"


def main() -> int:
    settings = _parser().parse_args()
    configure_log(settings.log_level)
    if not settings.backend:
        return _refuse("no state backend: set PULUMI_BACKEND_URL or --backend, e.g. file:///var/lib/tenancy")
    # Pulumi and its provider must meet the same cluster, and they run in folders of their own.
    if given := str(settings.kubeconfig or os.environ.get("KUBECONFIG", "")):
        os.environ["KUBECONFIG"] = os.pathsep.join(map(os.path.abspath, given.split(os.pathsep)))
    try:
        cluster = Cluster.connect()
        plans = _plans(cluster, settings)
        command = PulumiProcess(settings.timeout)
        stacks = Stacks(settings.backend, settings.run_dir, command)
        stacks.prepare()
        periods = _periods(settings)
        usage = UsageStore(settings.usage_db or settings.run_dir / _USAGE_FILE, periods.usage_record_s)
        watcher = Watcher(cluster, stacks, command, plans, usage, settings.workers, periods)
        host, port = settings.http
        feed, routes = _page(cluster, watcher, stacks, usage, settings)
        server = serve_http(
            host,
            port,
            {
                "/healthz": Check(lambda: [*watcher.not_healthy(), *(feed.not_healthy() if feed else ())]),
                "/readyz": Check(watcher.not_ready, lambda: [*plans.notes(), *watcher.notes()]),
            },
            {"/metrics": Page(watcher.metrics.text, CONTENT_TYPE_PLAIN_0_0_4)},
            routes,
        )
    except (OSError, StackError, ClusterError, PlansError) as error:
        return _refuse(str(error))
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    if feed:
        feed.start()
    watcher.start()
    log.info("started", http=f"{host}:{server.server_port}", backend=without_secrets(settings.backend))
    # Woken now and then: a signal that another thread has caught is handled only here, and wakes nobody.
    while not stopping.wait(0.5):
        pass
    watcher.stop()
    if feed:
        feed.stop()
    server.shutdown()
    return 0


def _plans(cluster: Cluster, settings: argparse.Namespace) -> LivePlans:
    if settings.plans_configmap:
        return ConfigMapPlans(cluster, *settings.plans_configmap)
    try:
        return FilePlans(cluster, settings.plans)
    except (PlansError, OSError) as error:
        raise PlansError(f"cannot use the plans file: {error}") from None


def _page(
    cluster: Cluster, watcher: Watcher, stacks: Stacks, usage: UsageStore, settings: argparse.Namespace
) -> tuple[Feed | None, list[BaseRoute]]:
    """The page's routes and what keeps it current: open to this machine, to others with a login only."""
    is_local = is_loopback(settings.http[0])
    if not is_local and not settings.page:
        return None, []
    board = Board(cluster, watcher.tenants, watcher.managed, watcher.desired, stacks)
    feed = Feed(board.row)
    watcher.follow(feed.note)
    login = None if is_local else Login(Reviews(cluster))
    return feed, PageRoutes(board, feed, usage, watcher.not_listed, login).routes()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m watcher",
        description="Watches Tenants and keeps the stack of each, and so the cluster, as its spec says.",
        epilog="PULUMI_CONFIG_PASSPHRASE (or _FILE) holds the passphrase that state is encrypted with.",
    )
    environment = os.environ
    parser.add_argument(
        "--backend",
        metavar="URL",
        default=environment.get("PULUMI_BACKEND_URL"),
        help="Pulumi's state backend",
    )
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        type=Path,
        help="default: $KUBECONFIG, ~/.kube/config, else the pod's own",
    )
    plans = parser.add_mutually_exclusive_group()
    plans.add_argument(
        "--plans",
        metavar="FILE",
        type=Path,
        default=SHIPPED_PLANS,
        help="the plans file, read again when it changes (default: the shipped one)",
    )
    plans.add_argument(
        "--plans-configmap",
        metavar="NAMESPACE/NAME",
        type=_place,
        help="a ConfigMap to take the plans from instead, by its key plans.yaml",
    )
    parser.add_argument(
        "--workers", metavar="N", type=_count, default=4, help="tenants worked on at once (default: 4)"
    )
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        type=_address,
        default="127.0.0.1:8080",
        help="where /healthz, /readyz, /metrics and, on a loopback address, the page are served",
    )
    parser.add_argument(
        "--page",
        action="store_true",
        help="serve the page on any address: to those whom the cluster knows, and lets read tenants",
    )
    parser.add_argument(
        "--run-dir",
        metavar="DIR",
        type=Path,
        default=Path(tempfile.gettempdir()) / "tenancy-watcher",
        help="folder for running operations; keep it across restarts",
    )
    parser.add_argument(
        "--usage-db",
        metavar="FILE",
        type=Path,
        help=f"where the use of quotas is recorded; keep it across restarts (default: {_USAGE_FILE} in the "
        "run folder)",
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=float,
        default=300,
        help="limit of one operation in seconds (default: 300)",
    )
    _add_periods(parser)
    parser.add_argument("--log-level", choices=["debug", "info", "warning"], default="info")
    return parser


def _add_periods(parser: argparse.ArgumentParser) -> None:
    default = DEFAULT_PERIODS
    for option, period_s, told in (
        ("--usage-status-period", default.usage_status_s, "the status reports used quota at most this often"),
        ("--usage-metrics-period", default.usage_metrics_s, "how often the pods' metrics are read"),
        ("--usage-record-period", default.usage_record_s, "how often the use of quotas is recorded"),
        ("--session-retry", default.session_retry_s, "the first wait after a refused start of a session"),
    ):
        told = f"{told}, in seconds (default: {period_s:g})"
        parser.add_argument(option, metavar="S", type=_period, default=period_s, help=told)


def _periods(settings: argparse.Namespace) -> Periods:
    return Periods(
        settings.usage_status_period,
        settings.usage_metrics_period,
        settings.usage_record_period,
        settings.session_retry,
    )


def _period(text: str) -> float:
    period_s = float(text)
    if not 0 < period_s < math.inf:
        raise ValueError(text)
    return period_s


def _count(text: str) -> int:
    if (count := int(text)) < 1:
        raise ValueError(text)
    return count


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def _place(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition("/")
    if not namespace or not name:
        raise ValueError(text)
    return namespace, name


def _refuse(problem: str) -> int:
    print(f"watcher: {problem}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
