"""What a platform team writes: the Tenant's spec, and how it is read from a manifest.

The CRDs are generated from these models, so each rule here is the API server's rule too.
What needs the plan as well (unknown plan, too many namespaces) is checked in `desired`.
"""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from tenancy.base.errors import InvalidSpec, validation_message
from tenancy.base.fields import (
    DNS_NAME,
    DnsLabel,
    DnsLabels,
    ServiceAccountNames,
    Subject,
    Subjects,
    Text,
    unique,
)
from tenancy.base.model import Model
from tenancy.base.names import NAMESPACE_MAX_LENGTH, namespace_name
from tenancy.base.quantity import Quantity
from tenancy.spec.settings import Settings


class Purpose(StrEnum):
    DEVELOPMENT = "development"
    STAGING = "staging"
    PRODUCTION = "production"


class AccessRole(StrEnum):
    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"


class SubjectKind(StrEnum):
    USER = "User"
    GROUP = "Group"
    SERVICE_ACCOUNT = "ServiceAccount"


class DeletionPolicy(StrEnum):
    DELETE = "Delete"
    RETAIN = "Retain"


class NamespaceSpec(Model):
    """One namespace of the tenant."""

    name: DnsLabel = Field(description="Its name behind the prefix `tenant-<tenant>-`.")
    purpose: Purpose = Field(default=Purpose.DEVELOPMENT, description="What it is for; becomes a label.")
    existing: DnsLabel | None = Field(
        default=None,
        description="An existing namespace to take over instead of making one, by its full name. Needs "
        "`adopt: true`.",
    )
    weight: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="Its share of the budget where `quotaScope` is `Tenant`."
    )


class RbacConfig(Model):
    """Names bound to the admin role in all of the tenant's namespaces."""

    users: Subjects = Field(default=(), description="Users.")
    groups: Subjects = Field(default=(), description="Groups.")
    service_accounts: ServiceAccountNames = Field(
        default=(),
        description="Service accounts: `name` (in each of the tenant's namespaces) or `namespace/name`.",
    )


class Access(Model):
    """One subject, one role, in some or all of the tenant's namespaces."""

    kind: SubjectKind = Field(description="What the subject is.")
    name: Subject = Field(description="The subject's name.")
    namespace: DnsLabel | None = Field(
        default=None,
        description="Where a ServiceAccount lives; left out: in each of the tenant's namespaces.",
    )
    role: AccessRole = Field(default=AccessRole.VIEWER, description="What it may do.")
    namespaces: DnsLabels = Field(
        default=(), description="Names from `spec.namespaces`; none given: all of them."
    )

    @model_validator(mode="after")
    def _service_accounts_are_objects(self) -> "Access":
        is_account = self.kind is SubjectKind.SERVICE_ACCOUNT
        if self.namespace and not is_account:
            raise ValueError(f"namespace is only for a ServiceAccount, not for a {self.kind}")
        if is_account and not re.fullmatch(DNS_NAME, self.name):
            raise ValueError(
                f"{self.name!r} is no ServiceAccount's name; its namespace is a field of its own"
            )
        return self


class ResourceQuotas(Model):
    """Figures that stand instead of the plan's."""

    cpu: Quantity | None = Field(default=None, description="CPU, requests and limits.")
    memory: Quantity | None = Field(default=None, description="Memory, requests and limits.")
    storage: Quantity | None = Field(default=None, description="Storage that claims may ask for.")


class TenantSpec(Settings):
    """What a tenant is to be."""

    plan: DnsLabel = Field(default="basic", description="The plan's name.")
    user_id: Text | None = Field(default=None, description="The platform's account behind the tenant.")
    username: Text | None = Field(default=None, description="That account's user name.")
    display_name: Text | None = Field(default=None, description="A name for people.")
    admin_users: Subjects = Field(default=(), description="Users bound to the admin role.")
    rbac_config: RbacConfig = Field(default=RbacConfig(), description="More names for the admin role.")
    access: tuple[Access, ...] = Field(
        default=(), max_length=256, description="Subjects with a role of their own."
    )
    name: DnsLabel | None = Field(
        default=None,
        description="Names the default namespace `tenant-<tenant>-<name>`, where `namespaces` is empty.",
    )
    namespaces: tuple[NamespaceSpec, ...] = Field(
        default=(),
        max_length=100,
        description="The tenant's namespaces; none given: one, `tenant-<tenant>`.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    resource_quotas: ResourceQuotas = Field(
        default=ResourceQuotas(), description="Quota figures that override the plan's."
    )
    paused: bool = Field(
        default=False, description="Stops the work on this tenant; drift is reported, not repaired."
    )
    cordoned: bool = Field(default=False, description="Stops the tenant's own users from writing anything.")
    adopt: bool = Field(
        default=False,
        validate_default=True,
        description="Lets the tenant take over namespaces that exist and are no tenant's.",
    )
    deletion_policy: DeletionPolicy = Field(
        default=DeletionPolicy.DELETE,
        description="What becomes of namespaces that the tenant no longer has. `Retain` keeps them, with "
        "all that is not ours in them, and without our labels.",
    )

    @field_validator("namespaces")
    @classmethod
    def _names_are_unique(cls, namespaces: tuple[NamespaceSpec, ...]) -> tuple[NamespaceSpec, ...]:
        unique(tuple(namespace.name for namespace in namespaces))
        unique(tuple(namespace.existing for namespace in namespaces if namespace.existing))
        return namespaces

    @field_validator("adopt")
    @classmethod
    def _existing_namespaces_are_adopted(cls, adopt: bool, others: ValidationInfo) -> bool:
        for index, namespace in enumerate(others.data.get("namespaces", ())):
            if namespace.existing and not adopt:
                raise ValueError(f"must be true, because namespaces[{index}].existing is given")
        return adopt


class Tenant(Model):
    """A tenant as the later steps see it: a name and a sound spec."""

    name: str
    spec: TenantSpec

    def namespaces(self) -> dict[str, NamespaceSpec | None]:
        """The tenant's namespaces by their full names. The default one has no spec of its own."""
        if not self.spec.namespaces:
            return {namespace_name(self.name, self.spec.name): None}
        return {
            given.existing or namespace_name(self.name, given.name): given for given in self.spec.namespaces
        }

    def namespace_field(self, index: int) -> str:
        """The field of the manifest that names the namespace at this place."""
        if self.spec.namespaces:
            field = "existing" if self.spec.namespaces[index].existing else "name"
            return f"spec.namespaces[{index}].{field}"
        return "spec.name" if self.spec.name else "metadata.name"


def tenant_from_manifest(manifest: dict[str, Any]) -> Tenant:
    """The tenant a manifest describes; InvalidSpec names the field that is wrong."""
    name = manifest["metadata"]["name"]
    try:
        tenant = Tenant(name=name, spec=TenantSpec.model_validate(manifest.get("spec") or {}))
    except ValidationError as error:
        raise InvalidSpec(*validation_message(error, "spec")) from None
    given = {namespace.name for namespace in tenant.spec.namespaces}
    for index, access in enumerate(tenant.spec.access):
        for position, wanted in enumerate(access.namespaces):
            if wanted not in given:
                raise InvalidSpec(
                    f"spec.access[{index}].namespaces[{position}]", f"{wanted!r} is not in spec.namespaces"
                )
    for index, full_name in enumerate(tenant.namespaces()):
        if len(full_name) > NAMESPACE_MAX_LENGTH:
            raise InvalidSpec(
                tenant.namespace_field(index),
                f"namespace {full_name!r} is longer than {NAMESPACE_MAX_LENGTH} characters",
            )
    return tenant
