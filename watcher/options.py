"""The options of `python -m watcher`, with their help texts and defaults."""

import tempfile
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from stacks.operation import EngineName
from stacks.storage.pruning import HistoryLimits
from tenancy.plans import SHIPPED_PLANS
from watcher.lease_options import LeaseTimes, seconds

USAGE_FILE: Final = "usage.db"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"


@dataclass(frozen=True)
class Options:
    """The options that `Watcher` needs. Times are in seconds."""

    workers: int = 4
    # Delay between a change to the used amounts of a quota and the write to the status. One write contains
    # all changes within the delay.
    usage_status_s: float = 10.0
    # Time between two reads of the pods' metrics.
    usage_metrics_s: float = 30.0
    # Time between two records of quota usage.
    usage_record_s: float = 60.0
    # First retry delay after the API server rejects the Job or the pod of an AISession.
    session_retry_s: float = 5.0
    # Time after which the status reports that objects block the deletion of a namespace.
    deletion_blocked_s: float = 120.0
    # Whether the watcher writes a CoreDNS configuration that hides the services of other tenants.
    has_dns_isolation: bool = False
    # How many Pulumi updates the history of each tenant's stack keeps, and for how long.
    history: HistoryLimits = field(default_factory=HistoryLimits)
    lease: LeaseTimes = field(default_factory=LeaseTimes)


DEFAULTS: Final = Options()


@dataclass(frozen=True)
class Address:
    host: str
    port: int


@dataclass(frozen=True)
class ConfigMapName:
    namespace: str
    name: str


def address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise typer.BadParameter(f"{text!r} must have the form HOST:PORT, such as 127.0.0.1:8080")
    return Address(host.strip("[]"), int(port))


def config_map_name(text: str) -> ConfigMapName:
    namespace, _, name = text.partition("/")
    if not namespace or not name:
        raise typer.BadParameter(f"{text!r} must have the form NAMESPACE/NAME")
    return ConfigMapName(namespace, name)


Backend = Annotated[
    str,
    typer.Option(metavar="URL", envvar="PULUMI_BACKEND_URL", help="URL of Pulumi's state backend."),
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="kubeconfig file. Default: $KUBECONFIG, ~/.kube/config, or the pod's service account.",
    ),
]
PlansFile = Annotated[
    Path | None,
    typer.Option(
        "--plans",
        metavar="FILE",
        help="Plans file. When the file changes, the watcher reads it again. Default: the shipped "
        f"{SHIPPED_PLANS.name}.",
    ),
]
PlansConfigMap = Annotated[
    ConfigMapName | None,
    typer.Option(
        "--plans-configmap",
        metavar="NAMESPACE/NAME",
        parser=config_map_name,
        help="Read the plans from this ConfigMap instead of a file. The key plans.yaml of the ConfigMap "
        "contains the plans.",
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Maximum number of tenants that the watcher reconciles at the same time."
    ),
]
HttpAddress = Annotated[
    Address,
    typer.Option(
        "--http",
        metavar="HOST:PORT",
        parser=address,
        help="Address of /healthz, /readyz and /metrics. If it is a loopback address, the watcher also "
        "serves the web page there.",
    ),
]
HasPage = Annotated[
    bool,
    typer.Option(
        "--page",
        help="Serve the web page even if the address is not a loopback address. Users must then log in with "
        "a token.",
    ),
]
HasProtectedMetrics = Annotated[
    bool,
    typer.Option(
        "--protect-metrics",
        help="Serve /metrics only to clients with a token. The user of the token needs the right to get the "
        "path /metrics.",
    ),
]
RunFolder = Annotated[
    Path,
    typer.Option(
        "--run-dir",
        metavar="DIR",
        help="Folder for the files of running Pulumi operations. Use the same folder after a restart.",
    ),
]
UsageDatabase = Annotated[
    Path | None,
    typer.Option(
        "--usage-db",
        metavar="FILE",
        help=f"File of the usage database. Use the same file after a restart. Default: {USAGE_FILE} in the "
        "folder of --run-dir.",
    ),
]
Timeout = Annotated[
    float, typer.Option(metavar="S", parser=seconds, help="Time limit of one Pulumi operation, in seconds.")
]
Engine = Annotated[
    EngineName,
    typer.Option(
        envvar="TENANCY_ENGINE",
        help="How the watcher runs Pulumi operations: in one process that keeps running (warm), or in a new "
        "process of the Pulumi CLI for each operation (cli). If the warm engine cannot be used, the watcher "
        "uses the CLI.",
    ),
]
UsageStatusPeriod = Annotated[
    float,
    typer.Option(
        metavar="S",
        parser=seconds,
        help="Minimum time between two writes of the used amounts to a Tenant's status, in seconds.",
    ),
]
UsageMetricsPeriod = Annotated[
    float,
    typer.Option(
        metavar="S", parser=seconds, help="Time between two reads of the pods' metrics, in seconds."
    ),
]
UsageRecordPeriod = Annotated[
    float,
    typer.Option(metavar="S", parser=seconds, help="Time between two records of quota usage, in seconds."),
]
SessionRetry = Annotated[
    float,
    typer.Option(
        metavar="S",
        parser=seconds,
        help="Delay before the first retry after the API server rejects the Job or the pod of an AISession, "
        "in seconds.",
    ),
]
DeletionBlocked = Annotated[
    float,
    typer.Option(
        metavar="S",
        parser=seconds,
        help="If objects block the deletion of a tenant for this time, the Tenant's status reports it, in "
        "seconds.",
    ),
]
HasDnsIsolation = Annotated[
    bool,
    typer.Option(
        "--dns-isolation",
        help="Write a CoreDNS configuration to the ConfigMap kube-system/tenancy-coredns. With this "
        "configuration, a tenant's pods cannot resolve the names of other tenants' Services.",
    ),
]
KeepUpdates = Annotated[
    int,
    typer.Option(min=1, metavar="N", help="Maximum number of updates in the history of each tenant."),
]
KeepDays = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Number of days after which the watcher removes an update from the history of a tenant.",
    ),
]
DEFAULT_RUN_FOLDER: Final = Path(tempfile.gettempdir()) / "tenancy-watcher"
