"""What an operator can set for the platform's own stack. Everything has a default.

Read by `__main__.py` from the stack's configuration, and by the modules that make the platform's objects.
"""

from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator

from tenancy.base.fields import DnsName, LabelValue
from tenancy.base.model import Model
from tenancy.base.quantity import Quantity
from tenancy.plans import plans_from_text

STATE_FOLDER: Final = "/var/lib/tenancy"


class PlatformSettings(Model):
    image: Annotated[str, StringConstraints(pattern=r"^\S+$")] | None = Field(
        default=None, description="The watcher's image; none: the watcher runs elsewhere."
    )
    backend: str = Field(
        default=f"file://{STATE_FOLDER}",
        description="Pulumi's state backend. A file:// one gets a volume at its path.",
    )
    passphrase_secret: DnsName = Field(
        default="tenancy-passphrase",
        description="A Secret whose keys become the watcher's environment: PULUMI_CONFIG_PASSPHRASE, "
        "and what the backend needs.",
    )
    plans: str | None = Field(default=None, description="The plans file's text; none: the shipped plans.")
    workers: Annotated[int, Field(ge=1, le=64)] = Field(
        default=4, description="Tenants worked on at once; the watcher's memory goes by it."
    )
    page: bool = Field(
        default=False,
        description="Whether the watcher serves its page, to those who may read tenants.",
    )
    storage: Quantity | None = Field(
        default=None,
        description="The size of the volume for a file:// backend and the record of use; none: 1Gi with a "
        "file:// backend, no volume with another.",
    )
    storage_class: DnsName | None = Field(
        default=None, description="That volume's storage class; none: the cluster's default."
    )
    monitoring_labels: dict[str, LabelValue] = Field(
        default_factory=dict,
        description="Labels by which your Prometheus finds rules and monitors, such as its release.",
    )

    @property
    def volume_folder(self) -> str | None:
        """Where the volume is: for the state of a file:// backend, else for the record of use alone."""
        url = urlsplit(self.backend)
        if url.scheme == "file":
            return url.path
        return STATE_FOLDER if self.storage is not None else None

    @field_validator("backend")
    @classmethod
    def _backend_is_a_url_without_password(cls, backend: str) -> str:
        url = urlsplit(backend)
        if not url.scheme:
            raise ValueError(f"{backend!r} is no URL such as s3://bucket or file://{STATE_FOLDER}")
        if url.scheme == "file" and (url.netloc or len(url.path) < 2):
            raise ValueError(f"{backend!r} needs a folder of the pod: file://{STATE_FOLDER}")
        if url.password:
            raise ValueError("holds a password: put it into the Secret, as the variable the backend reads")
        return backend

    @field_validator("plans")
    @classmethod
    def _plans_can_be_used(cls, text: str | None) -> str | None:
        if text is not None:
            plans_from_text(text)
        return text
