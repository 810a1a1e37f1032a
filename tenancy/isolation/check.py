"""The classes for a check: the request that it sends, and the protections that must reject this request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final

from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest

if TYPE_CHECKING:
    from tenancy.isolation.target import Target

# The name of the objects and users in the requests. The requests are dry runs, so no object has this name.
PROBE: Final = "tenancy-prove"


class Level(IntEnum):
    """The profile level of a check, as in the multi-tenancy benchmark of Kubernetes.

    The benchmark has two levels. Level 3 is for attacks that the benchmark does not include.
    """

    # Standard Kubernetes objects protect the control plane, the nodes and other tenants from the tenant.
    BASIC = 1
    # Admission policies restrict the objects that a tenant's admin can create and change.
    SELF_SERVICE = 2
    HOSTILE = 3


class Role(StrEnum):
    """Who sends the request of a check."""

    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"
    # A user who can write Tenants, but has no other rights.
    WRITER = "writer"
    # A user without any role.
    OUTSIDER = "outsider"
    # The watcher itself. Its checks send no request. They only check that the policies that limit the watcher
    # are unchanged.
    WATCHER = "watcher"


class Layer(StrEnum):
    """A mechanism of the API server that rejects requests, or a kind of object that isolates a tenant."""

    POLICY = "admission policy"
    POD_SECURITY = "Pod Security"
    RBAC = "RBAC"
    QUOTA = "quota"
    LIMITS = "LimitRange"
    SCHEMA = "schema"
    OBJECT = "object"


@dataclass(frozen=True)
class Protection:
    """One protection. The meaning of `name` depends on the layer:

    - POLICY: the name of the ValidatingAdmissionPolicy
    - POD_SECURITY: the least strict Pod Security level that rejects the request
    - RBAC: the verb that the user must not have. If `name` is empty, it is the verb of the request
    - QUOTA, LIMITS: the name of the object
    - OBJECT: the kind and the name of an object that each namespace of the tenant has, such as
      `NetworkPolicy default-deny-all`. If `name` is `Namespace`, the object is the namespace itself
    """

    layer: Layer
    name: str = ""

    def __str__(self) -> str:
        return f"{self.layer.value} {self.name}" if self.name else self.layer.value


def policy(name: str) -> Protection:
    return Protection(Layer.POLICY, f"tenancy-{name}")


def tenant_object(kind: Kind, name: str) -> Protection:
    return Protection(Layer.OBJECT, f"{kind.key} {name}")


RBAC: Final = Protection(Layer.RBAC)
BASELINE: Final = Protection(Layer.POD_SECURITY, "baseline")
RESTRICTED: Final = Protection(Layer.POD_SECURITY, "restricted")
SCHEMA: Final = Protection(Layer.SCHEMA)
NAMESPACES: Final = Protection(Layer.OBJECT, "Namespace")


class NotApplicable(Exception):
    """A check does not apply to this tenant, so it sends no request. The message contains the reason."""


@dataclass(frozen=True)
class Request:
    """A request to the API server.

    `verb` is an RBAC verb or `connect`. A `connect` request opens a connection, such as `exec`, to an object
    that does not exist. Some RBAC verbs, such as `impersonate`, have no HTTP method. For these verbs, the
    check sends an access review.
    """

    verb: str
    kind: Kind
    name: str = ""
    namespace: str = ""
    subresource: str = ""
    body: Manifest = field(default_factory=dict)

    @property
    def rbac_verb(self) -> str:
        return "create" if self.verb == "connect" else self.verb

    @property
    def path(self) -> str:
        name = "" if self.verb == "create" and not self.subresource else self.name
        return self.kind.path(self.namespace, name, self.subresource)

    def __str__(self) -> str:
        resource = f"{self.kind.resource}/{self.subresource}" if self.subresource else self.kind.resource
        name = f" {self.name}" if self.name else ""
        return f"{self.verb} {resource}{name}" + (f" in {self.namespace}" if self.namespace else "")


@dataclass(frozen=True)
class Check:
    """One check.

    `attempt` returns the request that must be rejected. If `attempt` is None, the check sends no request. It
    only compares the protections in the cluster with their desired state.
    """

    id: str
    title: str
    level: Level
    role: Role
    # At least one of these protections must reject the request. Policies, namespaces and other objects in
    # this list must also be unchanged in the cluster.
    protections: tuple[Protection, ...]
    attempt: "Callable[[Target], Request] | None" = None


@dataclass(frozen=True)
class Actor:
    """The identity that sends the requests of a role.

    `groups` does not contain groups that Kubernetes adds itself, such as `system:authenticated`.
    """

    user: str
    groups: tuple[str, ...] = ()
    # A namespace in which the identity has the role.
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.user} (group {', '.join(self.groups)})" if self.groups else self.user


Actors = Mapping[Role, Actor]
