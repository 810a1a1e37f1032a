"""The models of a Tenant and its spec, and a parser for Tenant manifests.

The CRDs are generated from these models, so the API server makes most of these checks too. The module
`desired` makes the checks that need the plan, such as the number of namespaces.
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
    require_unique,
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

    name: DnsLabel = Field(
        description="The short name of the namespace. The full name is `tenant-<tenant>-<name>`."
    )
    purpose: Purpose = Field(
        default=Purpose.DEVELOPMENT,
        description="The purpose of the namespace. The namespace gets it as a label.",
    )
    existing: DnsLabel | None = Field(
        default=None,
        description="The full name of an existing namespace to adopt instead of creating one. Requires "
        "`adopt: true`.",
    )
    weight: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1,
        description="The weight of the namespace when `quotaScope: Tenant` splits the budget among "
        "namespaces.",
    )


class RbacConfig(Model):
    """Subjects bound to the Role `tenant-admin` in all of the tenant's namespaces."""

    users: Subjects = Field(default=(), description="Names of users.")
    groups: Subjects = Field(default=(), description="Names of groups.")
    service_accounts: ServiceAccountNames = Field(
        default=(),
        description="Service accounts, as `namespace/name` or as `name`. A `name` without a namespace means "
        "the service account of that name in each of the tenant's namespaces.",
    )


class Access(Model):
    """The role that one subject has in some or all of the tenant's namespaces."""

    kind: SubjectKind = Field(description="The kind of the subject.")
    name: Subject = Field(description="The name of the subject.")
    namespace: DnsLabel | None = Field(
        default=None,
        description="The namespace of a ServiceAccount. Default: the service account of that name in each of "
        "the tenant's namespaces.",
    )
    role: AccessRole = Field(
        default=AccessRole.VIEWER,
        description="The role of the subject. Its RoleBinding refers to the Role `tenant-<role>`.",
    )
    namespaces: DnsLabels = Field(
        default=(),
        description="The namespaces in which the subject has the role, by their `name` in `spec.namespaces`. "
        "Default: all of the tenant's namespaces.",
    )

    @model_validator(mode="after")
    def _service_account_is_valid(self) -> "Access":
        is_service_account = self.kind is SubjectKind.SERVICE_ACCOUNT
        if self.namespace and not is_service_account:
            raise ValueError(f"namespace is allowed only for kind ServiceAccount, not for {self.kind}")
        if is_service_account and not re.fullmatch(DNS_NAME, self.name):
            raise ValueError(
                f"{self.name!r} is not a ServiceAccount name; give its namespace in the field namespace"
            )
        return self


class ResourceQuotas(Model):
    """Quota values of a tenant that override the values of its plan."""

    cpu: Quantity | None = Field(default=None, description="The CPU quota, for requests and for limits.")
    memory: Quantity | None = Field(
        default=None, description="The memory quota, for requests and for limits."
    )
    storage: Quantity | None = Field(
        default=None, description="The quota of storage that PersistentVolumeClaims can request."
    )


class TenantSpec(Settings):
    """The desired state of a tenant."""

    plan: DnsLabel = Field(
        default="basic",
        description="The name of the plan. The plan sets the fields that the tenant does not set.",
    )
    user_id: Text | None = Field(
        default=None, description="The ID of the platform account that the tenant belongs to."
    )
    username: Text | None = Field(
        default=None, description="The user name of the platform account that the tenant belongs to."
    )
    display_name: Text | None = Field(default=None, description="A readable name of the tenant.")
    admin_users: Subjects = Field(
        default=(), description="Users bound to the Role `tenant-admin` in all of the tenant's namespaces."
    )
    rbac_config: RbacConfig = Field(
        default=RbacConfig(),
        description="Users, groups and service accounts bound to the Role `tenant-admin` in all of the "
        "tenant's namespaces.",
    )
    access: tuple[Access, ...] = Field(
        default=(), max_length=256, description="Roles of single subjects in all or some namespaces."
    )
    name: DnsLabel | None = Field(
        default=None,
        description="Changes the name of the default namespace to `tenant-<tenant>-<name>`. It has no "
        "effect if `namespaces` is set.",
    )
    namespaces: tuple[NamespaceSpec, ...] = Field(
        default=(),
        max_length=100,
        description="The tenant's namespaces. Default: one namespace, `tenant-<tenant>`.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    resource_quotas: ResourceQuotas = Field(
        default=ResourceQuotas(), description="Quota values that override those of the plan."
    )
    paused: bool = Field(
        default=False,
        description="Stops reconciling the tenant. Drift is reported in the status, but not repaired.",
    )
    cordoned: bool = Field(
        default=False,
        description="Makes the API server reject all writes of the tenant's own users. Running workloads "
        "continue.",
    )
    adopt: bool = Field(
        default=False,
        validate_default=True,
        description="Allows the tenant to adopt existing namespaces that belong to no other tenant.",
    )
    deletion_policy: DeletionPolicy = Field(
        default=DeletionPolicy.DELETE,
        description="`Delete`: namespaces that the tenant no longer has are deleted. `Retain`: they are "
        "kept with their workloads, but without the platform's objects and labels.",
    )

    @field_validator("namespaces")
    @classmethod
    def _names_are_unique(cls, namespaces: tuple[NamespaceSpec, ...]) -> tuple[NamespaceSpec, ...]:
        require_unique(tuple(namespace.name for namespace in namespaces))
        require_unique(tuple(namespace.existing for namespace in namespaces if namespace.existing))
        return namespaces

    @field_validator("adopt")
    @classmethod
    def _existing_namespaces_are_adopted(cls, adopt: bool, info: ValidationInfo) -> bool:
        for index, namespace in enumerate(info.data.get("namespaces", ())):
            if namespace.existing and not adopt:
                raise ValueError(f"must be true, because namespaces[{index}].existing is set")
        return adopt


class TenantModel(Model):
    """A tenant: its name and its validated spec."""

    name: str
    spec: TenantSpec

    def namespaces(self) -> dict[str, NamespaceSpec | None]:
        """The tenant's namespaces by full name, in spec order. The value of the default namespace is None."""
        if not self.spec.namespaces:
            return {namespace_name(self.name, self.spec.name): None}
        return {
            namespace.existing or namespace_name(self.name, namespace.name): namespace
            for namespace in self.spec.namespaces
        }

    def namespace_field(self, index: int) -> str:
        """The path of the manifest field with the name of the namespace at this index of `namespaces()`."""
        if self.spec.namespaces:
            field = "existing" if self.spec.namespaces[index].existing else "name"
            return f"spec.namespaces[{index}].{field}"
        return "spec.name" if self.spec.name else "metadata.name"


def tenant_from_manifest(manifest: dict[str, Any]) -> TenantModel:
    """The tenant that a manifest describes. Raises InvalidSpec with the path of the first invalid field."""
    name = manifest["metadata"]["name"]
    try:
        tenant = TenantModel(name=name, spec=TenantSpec.model_validate(manifest.get("spec") or {}))
    except ValidationError as error:
        raise InvalidSpec(*validation_message(error, "spec")) from None
    short_names = {namespace.name for namespace in tenant.spec.namespaces}
    for index, access in enumerate(tenant.spec.access):
        for position, short_name in enumerate(access.namespaces):
            if short_name not in short_names:
                raise InvalidSpec(
                    f"spec.access[{index}].namespaces[{position}]",
                    f"{short_name!r} is not in spec.namespaces",
                )
    for index, full_name in enumerate(tenant.namespaces()):
        if len(full_name) > NAMESPACE_MAX_LENGTH:
            raise InvalidSpec(
                tenant.namespace_field(index),
                f"namespace {full_name!r} is longer than {NAMESPACE_MAX_LENGTH} characters",
            )
    return tenant
