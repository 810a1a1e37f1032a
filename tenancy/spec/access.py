"""The models of `spec.rbacConfig` and `spec.access`, which give subjects access to the tenant's namespaces.

A subject is a user, a group or a service account.
"""

import re
from enum import StrEnum

from pydantic import Field, model_validator

from tenancy.base.fields import (
    DnsLabel,
    DnsLabels,
    GroupNames,
    ServiceAccountNames,
    Subject,
    UserNames,
    subject_problem,
)
from tenancy.base.model import Model
from tenancy.base.patterns import DNS_NAME
from tenancy.base.validation import raise_problems


class AccessRole(StrEnum):
    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"


class SubjectKind(StrEnum):
    USER = "User"
    GROUP = "Group"
    SERVICE_ACCOUNT = "ServiceAccount"


class RbacConfig(Model):
    """Subjects that are bound to the Role `tenant-admin` in all of the tenant's namespaces."""

    users: UserNames = Field(default=(), description="Names of users.")
    groups: GroupNames = Field(default=(), description="Names of groups.")
    service_accounts: ServiceAccountNames = Field(
        default=(),
        description="Service accounts, in the format `namespace/name` or `name`. If the namespace is "
        "omitted, the entry applies to the service account with this name in each of the tenant's "
        "namespaces.",
    )


class Access(Model):
    """Gives one subject (user, group or service account) a role in some or all of the tenant's namespaces."""

    kind: SubjectKind = Field(description="The kind of the subject.")
    name: Subject = Field(description="The name of the subject.")
    namespace: DnsLabel | None = Field(
        default=None,
        description="The namespace of the service account. This field is allowed only if `kind` is "
        "`ServiceAccount`. If the field is omitted, the service accounts with this name in all of the "
        "tenant's namespaces get the role.",
    )
    role: AccessRole = Field(
        default=AccessRole.VIEWER,
        description="The role of the subject. The subject is bound to the Role `tenant-<role>`.",
    )
    namespaces: DnsLabels = Field(
        default=(),
        description="The namespaces in which the subject has the role. Each item is the `name` of a "
        "namespace in `spec.namespaces`. Default: all of the tenant's namespaces.",
    )

    @model_validator(mode="after")
    def _service_account_is_valid(self) -> "Access":
        is_service_account = self.kind is SubjectKind.SERVICE_ACCOUNT
        if self.namespace and not is_service_account:
            problem = f"namespace is allowed only for kind ServiceAccount, not for {self.kind}"
            raise_problems([(("namespace",), problem)])
        if everybody := subject_problem(self.kind.value, self.name):
            raise_problems([(("name",), everybody)])
        if is_service_account and not re.fullmatch(DNS_NAME, self.name):
            problem = (
                f"{self.name!r} is not a ServiceAccount name; write the namespace of the ServiceAccount to "
                "the field namespace"
            )
            raise_problems([(("name",), problem)])
        return self
