"""The settings of the platform's stack, from the stack's Pulumi configuration. All settings have defaults."""

from typing import Annotated, Final
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, field_validator

from tenancy.base.fields import Cidr, DnsName, Image, LabelValue
from tenancy.base.model import Model
from tenancy.base.platform_names import unsupported_backend
from tenancy.base.quantity import Quantity
from tenancy.plans import plans_from_text

STATE_FOLDER: Final = "/var/lib/tenancy"
_POSTGRES_PORT: Final = 5432


class PlatformSettings(Model):
    image: Image | None = Field(
        default=None,
        description="The image of the watcher. If it is not set, the stack does not deploy the watcher, and "
        "you must run the watcher elsewhere.",
    )
    backend: str = Field(
        default=f"file://{STATE_FOLDER}",
        description="The URL of Pulumi's state backend, with the scheme file, s3 or postgres. With a file:// "
        "backend, the watcher has one pod, with a volume that is mounted at the path of the URL. With "
        "another backend, the watcher has two pods without a volume.",
    )
    passphrase_secret: DnsName = Field(
        default="tenancy-passphrase",
        description="A Secret whose keys become environment variables of the watcher: "
        "PULUMI_CONFIG_PASSPHRASE, and the credentials of the backend.",
    )
    plans: str | None = Field(
        default=None, description="The content of the plans file. Default: the shipped plans."
    )
    workers: Annotated[int, Field(ge=1, le=64)] = Field(
        default=4,
        description="The number of tenants that the watcher reconciles at the same time. The CPU and memory "
        "limits of the watcher are calculated from it.",
    )
    page: bool = Field(
        default=False,
        description="Whether the watcher serves its web page. Only users who may read Tenants can use it.",
    )
    protect_metrics: bool = Field(
        default=False,
        description="Whether the watcher serves /metrics only to clients whose token allows them to get the "
        "path /metrics.",
    )
    egress_ports: tuple[Annotated[int, Field(ge=1, le=65535)], ...] = Field(
        default=(443, 6443),
        description="The TCP ports to which the pods in tenancy-system can connect, in addition to the port "
        "in the URL of the backend. One of them must be the port of the API server.",
    )
    dns_isolation: bool = Field(
        default=False,
        description="Whether the watcher writes a CoreDNS configuration that hides other tenants' services.",
    )
    cluster_networks: tuple[Cidr, ...] = Field(
        default=(),
        max_length=64,
        description="The networks of the cluster's pods, Services and nodes, as CIDRs. The endpoints of "
        "tenants cannot use addresses in these networks.",
    )
    keep_updates: Annotated[int, Field(ge=1)] = Field(
        default=100, description="The number of updates to keep in the history of each tenant."
    )
    keep_days: Annotated[int, Field(ge=1)] = Field(
        default=90, description="The number of days to keep an update in the history of a tenant."
    )
    storage: Quantity | None = Field(
        default=None,
        description="The size of the volume for a file:// backend and the usage database. Default: 1Gi. With "
        "another backend, there is no volume.",
    )
    storage_class: DnsName | None = Field(
        default=None, description="The storage class of the volume. Default: the cluster's default class."
    )
    monitoring_labels: dict[str, LabelValue] = Field(
        default_factory=dict,
        description="Labels of the PrometheusRule and the ServiceMonitor, such as `release`. Set the labels "
        "by which your Prometheus selects these objects.",
    )

    @property
    def volume_folder(self) -> str | None:
        """The mount path of the watcher's volume, or None if there is no volume.

        Only a file:// backend needs a volume. It contains Pulumi's state and the usage database.
        """
        url = urlsplit(self.backend)
        return url.path if url.scheme == "file" else None

    @property
    def backend_port(self) -> int | None:
        """The TCP port of the backend. None if the URL of the backend does not determine a port."""
        url = urlsplit(self.backend)
        # An S3-compatible backend has its address in the URL's query: s3://bucket?endpoint=minio.example:9000.
        endpoint = parse_qs(url.query).get("endpoint", [""])[0].rpartition("//")[2]
        port = url.port or urlsplit(f"//{endpoint}").port
        return port or (_POSTGRES_PORT if url.scheme == "postgres" else None)

    @field_validator("backend")
    @classmethod
    def _backend_is_a_url_without_password(cls, backend: str) -> str:
        url = urlsplit(backend)
        if problem := unsupported_backend(backend):
            raise ValueError(problem)
        if url.scheme == "file" and (url.netloc or len(url.path) < 2):
            raise ValueError(
                f"{backend!r} must name an absolute path in the pod, such as file://{STATE_FOLDER}"
            )
        if url.password:
            raise ValueError(
                "contains a password: put the password into the Secret of the setting passphraseSecret; the "
                "key must be the name of the environment variable that the backend reads"
            )
        return backend

    @field_validator("plans")
    @classmethod
    def _plans_are_valid(cls, text: str | None) -> str | None:
        if text is not None:
            plans_from_text(text)
        return text
