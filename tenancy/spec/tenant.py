"""The models of a Tenant and its spec, and a parser for Tenant manifests.

The models check the fields of the spec. The CRDs are generated from the models, so the API server makes most
of these checks too. Some checks need the plan, such as the check of the number of namespaces. The module
`desired` makes the checks that need the plan.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from tenancy.base.errors import InvalidSpec, combined
from tenancy.base.fields import DnsLabel, Text, UserNames
from tenancy.base.model import Model
from tenancy.base.names import NAMESPACE_MAX_LENGTH, namespace_name, tenant_name_problem
from tenancy.base.pulumi_signature import SIGNATURE_PROBLEM, signature_paths
from tenancy.base.quantity import Quantity
from tenancy.base.validation import Problem, raise_problems, structure_problems, validation_problems
from tenancy.spec.access import Access, RbacConfig
from tenancy.spec.namespace_spec import NamespaceSpec
from tenancy.spec.settings import Settings


class DeletionPolicy(StrEnum):
    DELETE = "Delete"
    RETAIN = "Retain"


class ResourceQuotas(Model):
    """Quotas of the tenant. They override the values in the plan's quotas."""

    cpu: Quantity | None = Field(
        default=None,
        description="The CPU quota. It limits the sum of all CPU requests, and also the sum of all CPU "
        "limits.",
    )
    memory: Quantity | None = Field(
        default=None,
        description="The memory quota. It limits the sum of all memory requests, and also the sum of all "
        "memory limits.",
    )
    storage: Quantity | None = Field(
        default=None,
        description="The quota for the total storage that PersistentVolumeClaims request.",
    )


class TenantSpec(Settings):
    """The desired state of a tenant."""

    plan: DnsLabel = Field(
        default="basic",
        description="The name of the tenant's plan. The plan provides the settings that the Tenant omits.",
    )
    user_id: Text | None = Field(
        default=None,
        description="The ID of the account that the tenant belongs to. The watcher adds the ID as a label "
        "to the tenant's namespaces. The ID grants no access.",
    )
    username: Text | None = Field(
        default=None,
        description="The user name of the account that the tenant belongs to. The name grants no access. To "
        "give a user access, use `adminUsers` or `access`. The watcher adds the name to the tenant's "
        "namespaces, as the annotation `kleff.io/tenant-username` and as a label with the same key. The "
        "label contains an encoded form of the name if the name is not a valid label value.",
    )
    display_name: Text | None = Field(
        default=None,
        description="A human-readable name of the tenant. The watcher adds it as an annotation to the "
        "tenant's namespaces.",
    )
    admin_users: UserNames = Field(
        default=(),
        description="Names of users who are bound to the Role `tenant-admin` in all of the tenant's "
        "namespaces.",
    )
    rbac_config: RbacConfig = Field(
        default=RbacConfig(),
        description="Users, groups and service accounts that are bound to the Role `tenant-admin` in all of "
        "the tenant's namespaces.",
    )
    access: tuple[Access, ...] = Field(
        default=(),
        max_length=256,
        description="Users, groups and service accounts that have a role in some or all of the tenant's "
        "namespaces.",
    )
    name: DnsLabel | None = Field(
        default=None,
        description="Changes the name of the tenant's default namespace from `tenant-<tenant>` to "
        "`tenant-<tenant>-<name>`. The field has no effect if `namespaces` is set.",
    )
    namespaces: tuple[NamespaceSpec, ...] = Field(
        default=(),
        max_length=100,
        description="The tenant's namespaces. Default: one namespace, `tenant-<tenant>`. `<tenant>` is the "
        "name of the Tenant.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    resource_quotas: ResourceQuotas = Field(
        default=ResourceQuotas(),
        description="The tenant's own quotas for CPU, memory and storage. They override the values in the "
        "plan's quotas.",
    )
    paused: bool = Field(
        default=False,
        description="If true, the watcher does not change the tenant's objects. It reports edited and "
        "deleted objects (drift) in the status, but does not restore them.",
    )
    cordoned: bool = Field(
        default=False,
        description="If true, the API server rejects all writes by the tenant's users in the tenant's "
        "namespaces. Running workloads continue.",
    )
    adopt: bool = Field(
        default=False,
        validate_default=True,
        description="If true, the tenant can adopt (take over) existing namespaces that belong to no "
        "tenant. The annotation `adoption.platform.ai/tenant` of each of these namespaces must contain the "
        "name of the tenant.",
    )
    deletion_policy: DeletionPolicy = Field(
        default=DeletionPolicy.DELETE,
        description="What happens to a namespace when somebody removes it from the spec, or deletes the "
        "Tenant. `Delete`: the watcher deletes the namespace. `Retain`: the namespace and its workloads "
        "stay in the cluster, but the watcher removes the objects and labels that it has added.",
    )

    @field_validator("namespaces")
    @classmethod
    def _names_are_unique(cls, namespaces: tuple[NamespaceSpec, ...]) -> tuple[NamespaceSpec, ...]:
        raise_problems(
            ((index, field), f"{value!r} is given twice")
            for field in ("name", "existing")
            for index, namespace in enumerate(namespaces)
            if (value := getattr(namespace, field))
            and value in [getattr(other, field) for other in namespaces[:index]]
        )
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
        """The spec of each namespace, by full name, in the order of `spec.namespaces`.

        The value is None for the default namespace, which has no spec.
        """
        if not self.spec.namespaces:
            return {namespace_name(self.name, self.spec.name): None}
        return dict(zip(self.full_names(), self.spec.namespaces, strict=True))

    def full_names(self) -> list[str]:
        """The full name of each namespace in `spec.namespaces`."""
        return [
            namespace.existing or namespace_name(self.name, namespace.name)
            for namespace in self.spec.namespaces
        ]

    def namespace_field(self, index: int) -> str:
        """The path of the field that sets the name of a namespace, such as `spec.namespaces[0].name`.

        `index` is the position of the namespace in `namespaces()`.
        """
        if self.spec.namespaces:
            field = "existing" if self.spec.namespaces[index].existing else "name"
            return f"spec.namespaces[{index}].{field}"
        return "spec.name" if self.spec.name else "metadata.name"


def tenant_from_manifest(manifest: dict[str, Any]) -> TenantModel:
    """The tenant in a manifest. Raises one InvalidSpec that contains the problems of all invalid fields."""
    name, spec = manifest["metadata"]["name"], {} if manifest.get("spec") is None else manifest["spec"]
    if unusable := structure_problems(spec, "spec"):
        raise combined([InvalidSpec(*problem) for problem in unusable])
    problems = [Problem(path, SIGNATURE_PROBLEM) for path in signature_paths(spec, "spec")]
    try:
        valid_spec: TenantSpec | None = _validated(spec)
    except ValidationError as error:
        problems += validation_problems(error, "spec")
        valid_spec = _valid_part(spec, error)
    if valid_spec is not None:
        problems += _name_problems(TenantModel(name=name, spec=valid_spec))
    if problems or valid_spec is None:
        raise combined([InvalidSpec(*problem) for problem in problems])
    return TenantModel(name=name, spec=valid_spec)


def _validated(spec: Any) -> TenantSpec:
    """Parse the spec. As in the API server, field names must be camelCase. Raises ValidationError."""
    return TenantSpec.model_validate(spec, by_alias=True, by_name=False)


def _valid_part(spec: Any, error: ValidationError) -> TenantSpec | None:
    """The spec without its invalid fields. None if a field that `_name_problems` reads is invalid."""
    invalid = {detail["loc"][0] for detail in error.errors() if detail["loc"]}
    if not isinstance(spec, Mapping) or invalid & {"access", "name", "namespaces"}:
        return None
    try:
        return _validated({key: value for key, value in spec.items() if key not in invalid})
    except ValidationError:
        return None


def _name_problems(tenant: TenantModel) -> Iterator[Problem]:
    """Problems with the names of the tenant and of its namespaces, and with references to namespaces."""
    if problem := tenant_name_problem(tenant.name):
        yield Problem("metadata.name", problem)
    short_names = {namespace.name for namespace in tenant.spec.namespaces}
    for index, access in enumerate(tenant.spec.access):
        for position, short_name in enumerate(access.namespaces):
            if short_name not in short_names:
                field = f"spec.access[{index}].namespaces[{position}]"
                yield Problem(field, f"there is no namespace {short_name!r} in spec.namespaces")
    full_names = tenant.full_names() or list(tenant.namespaces())
    for index, full_name in enumerate(full_names):
        field = tenant.namespace_field(index)
        if full_name in full_names[:index]:
            yield Problem(field, f"namespace {full_name!r} is given twice")
        if len(full_name) > NAMESPACE_MAX_LENGTH and field != "metadata.name":
            limit = f"but the name of a namespace can have at most {NAMESPACE_MAX_LENGTH}"
            yield Problem(field, f"namespace {full_name!r} has {len(full_name)} characters, {limit}")
