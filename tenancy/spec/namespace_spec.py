"""The model of one namespace in the spec of a Tenant."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from tenancy.base.fields import DnsLabel
from tenancy.base.model import Model


class Purpose(StrEnum):
    DEVELOPMENT = "development"
    STAGING = "staging"
    PRODUCTION = "production"


class NamespaceSpec(Model):
    """One namespace of the tenant."""

    name: DnsLabel = Field(
        description="The short name of the namespace. The full name is `tenant-<tenant>-<name>`, unless "
        "`existing` is set.",
    )
    purpose: Purpose = Field(
        default=Purpose.DEVELOPMENT,
        description="The purpose of the namespace. The watcher adds the purpose as a label to the namespace.",
    )
    existing: DnsLabel | None = Field(
        default=None,
        description="The full name of a namespace that already exists. The tenant adopts this namespace "
        "instead of creating a new one. This field requires `adopt: true`.",
    )
    weight: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1,
        description="The weight of the namespace. If `quotaScope` is `Tenant`, each namespace gets a share "
        "of the quotas in proportion to its weight.",
    )
