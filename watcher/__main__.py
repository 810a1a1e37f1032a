"""`python -m watcher`: runs the watcher, in a pod or on a workstation."""

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
from watcher.http import Check, TextEndpoint, serve_http
from watcher.log import configure_log
from watcher.page.auth import AccessReviews
from watcher.page.live_feed import Feed
from watcher.page.login import Login
from watcher.page.page_data import PageData
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
        return _fail("no state backend: set PULUMI_BACKEND_URL or --backend, e.g. file:///var/lib/tenancy")
    # Pulumi and its provider read KUBECONFIG too, and run in other folders.
    if kubeconfigs := str(settings.kubeconfig or os.environ.get("KUBECONFIG", "")):
        os.environ["KUBECONFIG"] = os.pathsep.join(map(os.path.abspath, kubeconfigs.split(os.pathsep)))
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
            {"/metrics": TextEndpoint(watcher.metrics.text, CONTENT_TYPE_PLAIN_0_0_4)},
            routes,
        )
    except (OSError, StackError, ClusterError, PlansError) as error:
        return _fail(str(error))
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    if feed:
        feed.start()
    watcher.start()
    log.info("started", http=f"{host}:{server.server_port}", backend=without_secrets(settings.backend))
    # With a timeout: if another thread receives the signal, the handler runs only when this thread wakes up.
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
    """Page feed and routes. A loopback address needs no login; others have a page only with `--page`."""
    is_local = is_loopback(settings.http[0])
    if not is_local and not settings.page:
        return None, []
    data = PageData(cluster, watcher.tenants, watcher.managed, watcher.desired, stacks)
    feed = Feed(data.row)
    watcher.follow(feed.mark_changed)
    login = None if is_local else Login(AccessReviews(cluster))
    return feed, PageRoutes(data, feed, usage, watcher.not_listed, login).routes()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m watcher",
        description="Watches Tenants, and applies each one to the cluster through a Pulumi stack of its own.",
        epilog="PULUMI_CONFIG_PASSPHRASE (or PULUMI_CONFIG_PASSPHRASE_FILE) is the passphrase of the state.",
    )
    environment = os.environ
    parser.add_argument(
        "--backend",
        metavar="URL",
        default=environment.get("PULUMI_BACKEND_URL"),
        help="URL of Pulumi's state backend (default: $PULUMI_BACKEND_URL)",
    )
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        type=Path,
        help="kubeconfig file (default: $KUBECONFIG, ~/.kube/config, or the pod's service account)",
    )
    plans = parser.add_mutually_exclusive_group()
    plans.add_argument(
        "--plans",
        metavar="FILE",
        type=Path,
        default=SHIPPED_PLANS,
        help="plans file; the watcher reloads it when it changes (default: the shipped file)",
    )
    plans.add_argument(
        "--plans-configmap",
        metavar="NAMESPACE/NAME",
        type=namespace_and_name,
        help="ConfigMap with the plans, in its key plans.yaml, instead of a file",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=count,
        default=4,
        help="number of tenants that are reconciled at the same time (default: 4)",
    )
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        type=address,
        default="127.0.0.1:8080",
        help="address of /healthz, /readyz, /metrics and, if it is a loopback address, the web page "
        "(default: 127.0.0.1:8080)",
    )
    parser.add_argument(
        "--page",
        action="store_true",
        help="serve the web page on any address, to users who log in with a token and can read tenants",
    )
    parser.add_argument(
        "--run-dir",
        metavar="DIR",
        type=Path,
        default=Path(tempfile.gettempdir()) / "tenancy-watcher",
        help="folder for running operations; keep it across restarts (default: tenancy-watcher in the "
        "temporary folder)",
    )
    parser.add_argument(
        "--usage-db",
        metavar="FILE",
        type=Path,
        help=f"database of quota usage over time; keep it across restarts (default: {_USAGE_FILE} in the run "
        "folder)",
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=float,
        default=300,
        help="maximum duration of one operation, in seconds (default: 300)",
    )
    _add_periods(parser)
    parser.add_argument("--log-level", choices=["debug", "info", "warning"], default="info")
    return parser


def _add_periods(parser: argparse.ArgumentParser) -> None:
    default = DEFAULT_PERIODS
    for option, period_s, meaning in (
        ("--usage-status-period", default.usage_status_s, "minimum time between usage updates in a status"),
        ("--usage-metrics-period", default.usage_metrics_s, "time between two reads of the pods' metrics"),
        ("--usage-record-period", default.usage_record_s, "time between two records of quota usage"),
        ("--session-retry", default.session_retry_s, "first backoff after a rejected start of an AISession"),
    ):
        help_text = f"{meaning}, in seconds (default: {period_s:g})"
        parser.add_argument(option, metavar="S", type=seconds, default=period_s, help=help_text)


def _periods(settings: argparse.Namespace) -> Periods:
    return Periods(
        settings.usage_status_period,
        settings.usage_metrics_period,
        settings.usage_record_period,
        settings.session_retry,
    )


# The names of these functions are part of argparse's error messages: invalid seconds value: '0'.
def seconds(text: str) -> float:
    period_s = float(text)
    if not 0 < period_s < math.inf:
        raise ValueError(text)
    return period_s


def count(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def namespace_and_name(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition("/")
    if not namespace or not name:
        raise ValueError(text)
    return namespace, name


def _fail(problem: str) -> int:
    """Print why the watcher cannot start, and return the exit code."""
    print(f"watcher: {problem}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
