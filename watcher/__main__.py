"""`python -m watcher`: runs the watcher, in a pod or on a workstation."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Final

import structlog
import typer
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.routing import BaseRoute

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.plans_in_force import ConfigMapPlans, FilePlans, LivePlans
from stacks.command import PulumiProcess
from stacks.errors import StackError, without_secrets
from stacks.operation import EngineName
from stacks.stack import Stacks
from stacks.storage.pruning import HistoryLimits
from tenancy.base.errors import PlansError
from tenancy.plans import SHIPPED_PLANS
from watcher import lease_options, options
from watcher.app import Watcher
from watcher.http import Check, TextEndpoint, serve_http
from watcher.log import configure_log
from watcher.options import DEFAULTS, Options
from watcher.page.auth import AccessReviews
from watcher.page.live_feed import Feed
from watcher.page.login import Login
from watcher.page.metrics_access import rejection_without_right
from watcher.page.page_data import PageData
from watcher.page.request_checks import is_loopback
from watcher.page.routes import PageRoutes
from watcher.usage.store import UsageStore

log = structlog.get_logger(__name__)

_METRICS: Final = "/metrics"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(
    epilog="Pulumi encrypts secrets in its state with the passphrase in PULUMI_CONFIG_PASSPHRASE, or in the "
    "file PULUMI_CONFIG_PASSPHRASE_FILE."
)
def run(
    backend: options.Backend = "",
    kubeconfig: options.Kubeconfig = None,
    plans_file: options.PlansFile = None,
    plans_configmap: options.PlansConfigMap = None,
    workers: options.Workers = DEFAULTS.workers,
    http: options.HttpAddress = "127.0.0.1:8080",  # type: ignore[assignment]  # parsed by the option
    has_page: options.HasPage = False,
    has_protected_metrics: options.HasProtectedMetrics = False,
    run_folder: options.RunFolder = options.DEFAULT_RUN_FOLDER,
    usage_database: options.UsageDatabase = None,
    timeout: options.Timeout = 300.0,
    engine: options.Engine = EngineName.WARM,
    usage_status_period: options.UsageStatusPeriod = DEFAULTS.usage_status_s,
    usage_metrics_period: options.UsageMetricsPeriod = DEFAULTS.usage_metrics_s,
    usage_record_period: options.UsageRecordPeriod = DEFAULTS.usage_record_s,
    session_retry: options.SessionRetry = DEFAULTS.session_retry_s,
    deletion_blocked_after: options.DeletionBlocked = DEFAULTS.deletion_blocked_s,
    has_dns_isolation: options.HasDnsIsolation = False,
    keep_updates: options.KeepUpdates = DEFAULTS.history.updates,
    keep_days: options.KeepDays = DEFAULTS.history.days,
    lease_duration: lease_options.LeaseDuration = DEFAULTS.lease.duration_s,
    lease_renew_deadline: lease_options.LeaseRenewDeadline = DEFAULTS.lease.renew_s,
    lease_retry_period: lease_options.LeaseRetryPeriod = DEFAULTS.lease.retry_s,
    log_level: options.LogLevel = options.LogLevel.INFO,
) -> None:
    """Watch Tenants, and apply each one to the cluster through its own Pulumi stack."""
    configure_log(log_level)
    if not backend:
        raise StackError(
            "no state backend: set PULUMI_BACKEND_URL or --backend, e.g. file:///var/lib/tenancy"
        )
    if plans_file and plans_configmap:
        raise typer.BadParameter("cannot be combined with --plans", param_hint="--plans-configmap")
    # The Pulumi CLI and its Kubernetes provider also read KUBECONFIG. They run in other folders, so the paths
    # must be absolute.
    if kubeconfigs := str(kubeconfig or os.environ.get("KUBECONFIG", "")):
        os.environ["KUBECONFIG"] = os.pathsep.join(map(os.path.abspath, kubeconfigs.split(os.pathsep)))
    settings = Options(
        workers,
        usage_status_period,
        usage_metrics_period,
        usage_record_period,
        session_retry,
        deletion_blocked_after,
        has_dns_isolation,
        HistoryLimits(keep_updates, keep_days),
        lease_options.lease_times(lease_duration, lease_renew_deadline, lease_retry_period),
    )
    cluster = Cluster.connect()
    plans = _plans(cluster, plans_file, plans_configmap)
    PulumiProcess.installed_version()  # Raises PulumiMissing.
    stacks = Stacks(backend, run_folder, PulumiProcess(timeout), engine)
    stacks.prepare()
    usage = UsageStore(usage_database or run_folder / options.USAGE_FILE, settings.usage_record_s)
    watcher = Watcher(cluster, stacks, plans, usage, settings)
    login = Login(AccessReviews(cluster))
    feed, routes = _page(cluster, watcher, stacks, plans, usage, http.host, has_page, login)
    rejection = rejection_without_right(login, _METRICS) if has_protected_metrics else None
    server = serve_http(
        http.host,
        http.port,
        {
            "/healthz": Check(lambda: [*watcher.not_healthy(), *(feed.not_healthy() if feed else ())]),
            "/readyz": Check(watcher.not_ready, lambda: [*plans.notes(), *watcher.notes()]),
        },
        {_METRICS: TextEndpoint(watcher.metrics.text, CONTENT_TYPE_PLAIN_0_0_4, rejection)},
        routes,
    )
    if feed:
        feed.start()
    watcher.start()
    log.info("started", http=f"{http.host}:{server.server_port}", backend=without_secrets(backend))
    _await_signal()
    watcher.stop()
    if feed:
        feed.stop()
    server.shutdown()


def _await_signal() -> None:
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    # The wait has a timeout, because Python runs a signal handler only when the main thread wakes up.
    while not stopping.wait(0.5):
        pass


def _plans(cluster: Cluster, file: Path | None, config_map: options.ConfigMapName | None) -> LivePlans:
    if config_map:
        return ConfigMapPlans(cluster, config_map.namespace, config_map.name)
    try:
        return FilePlans(cluster, file or SHIPPED_PLANS)
    except (PlansError, OSError) as error:
        raise PlansError(f"cannot use the plans file: {error}") from None


def _page(
    cluster: Cluster,
    watcher: Watcher,
    stacks: Stacks,
    plans: LivePlans,
    usage: UsageStore,
    host: str,
    has_page: bool,
    login: Login,
) -> tuple[Feed | None, list[BaseRoute]]:
    """The live feed and the routes of the web page. None and an empty list if the page is not served.

    If the HTTP server listens on a loopback address, the page is always served and needs no login. On other
    addresses, the page is served only with the option `--page`, and users must log in.
    """
    is_local = is_loopback(host)
    if not is_local and not has_page:
        return None, []
    data = PageData(
        cluster, watcher.tenants, watcher.managed, watcher.differences, watcher.sessions, stacks, plans
    )
    feed = Feed(data.row)
    watcher.follow(feed.mark_changed)
    routes = PageRoutes(
        data, feed, usage, watcher.not_listed, watcher.election.state, None if is_local else login
    )
    return feed, routes.routes()


def main() -> None:
    try:
        app(prog_name="python -m watcher")
    except (OSError, StackError, ClusterError, PlansError) as error:
        print(f"watcher: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
