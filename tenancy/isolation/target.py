"""The tenant whose isolation is checked, and the users who send the requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address, ip_network
from typing import Final

from tenancy.base.kinds import ROLE_BINDING, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import SYSTEM_NAMESPACE
from tenancy.desired import DesiredState
from tenancy.isolation.check import PROBE, Actor, NotApplicable, Role
from tenancy.objects.policy_annotations import hostnames
from tenancy.objects.roles import role_name
from tenancy.spec.access import AccessRole, SubjectKind
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import TenantModel

# An address that no network of a tenant contains, unless the network is very large.
FOREIGN_ADDRESS: Final = "198.18.0.1"
_ACCOUNT_PREFIX: Final = "system:serviceaccount:"


@dataclass(frozen=True)
class Target:
    """A tenant, and the data about its cluster from which the checks build their requests."""

    manifest: Manifest
    tenant: TenantModel
    settings: TenantSettings
    desired: DesiredState
    # The namespace to which the checks send their requests.
    namespace: str
    # For each kind, the name of one live object in the namespace. A kind without objects is missing.
    live_names: Mapping[Kind, str] = field(default_factory=dict)
    # The names of the ServiceAccounts in the namespace.
    accounts: frozenset[str] = frozenset()
    # The names of all PriorityClasses and RuntimeClasses, without a PriorityClass that is the global default.
    classes: Mapping[Kind, Sequence[str]] = field(default_factory=dict)
    # A namespace of another tenant, or a namespace of the platform.
    foreign_namespace: str = SYSTEM_NAMESPACE

    @property
    def name(self) -> str:
        return self.tenant.name

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        return hostnames(self.name, self.settings)

    def live_name(self, kind: Kind) -> str:
        """The name of a live object of this kind. Raises NotApplicable if there is no such object."""
        if kind not in self.live_names:
            raise NotApplicable(f"there is no {kind.kind} in {self.namespace}")
        return self.live_names[kind]

    def other_class(self, kind: Kind, setting: str, allowed: Sequence[str] | None) -> str:
        """The name of a PriorityClass or RuntimeClass in the cluster that is forbidden for the tenant.

        `setting` is the name of the allow list, and `allowed` is its value. Raises NotApplicable if the
        tenant can use every class.
        """
        self.require_list(setting, allowed)
        for name in self.classes.get(kind, ()):
            if name not in (allowed or ()):
                return name
        raise NotApplicable(f"the cluster has no {kind.kind} that is forbidden for the tenant")

    def require_list(self, setting: str, allowed: Sequence[str] | None) -> None:
        """Raise NotApplicable if `allowed` is None, because the tenant can then use every value."""
        if allowed is None:
            raise NotApplicable(f"the tenant has no list {setting}, so every value is allowed")

    @property
    def foreign_address(self) -> str:
        """An address outside the tenant's egress networks.

        Raises NotApplicable if the egress networks contain `FOREIGN_ADDRESS`.
        """
        for addresses in self.settings.network.egress or ():
            if ip_address(FOREIGN_ADDRESS) in ip_network(addresses.cidr):
                raise NotApplicable(f"network.egress of the tenant contains {FOREIGN_ADDRESS}")
        return FOREIGN_ADDRESS

    @property
    def admin_account(self) -> str:
        """The name of a ServiceAccount that has the role admin in its own namespace.

        Raises NotApplicable if there is no such ServiceAccount.
        """
        for subject in _subjects(self.desired, AccessRole.ADMIN, self.namespace):
            if subject["kind"] == SubjectKind.SERVICE_ACCOUNT and subject["namespace"] == self.namespace:
                return subject["name"]
        raise NotApplicable(f"no ServiceAccount in {self.namespace} has the role admin")


def actors(desired: DesiredState, writer: str = "") -> dict[Role, Actor]:
    """The identity that sends the requests of each role. The result contains no roles without subjects.

    `writer` is the name of a user who can write Tenants. If it is empty, the result does not contain the role
    WRITER.
    """
    by_role = {Role.OUTSIDER: Actor(PROBE, namespace=desired.namespaces[0])}
    if writer:
        by_role[Role.WRITER] = Actor(writer, namespace=desired.namespaces[0])
    for role in AccessRole:
        bound = [
            _actor(subject, namespace)
            for namespace in desired.namespaces
            for subject in _subjects(desired, role, namespace)
        ]
        # Prefer users to groups. For a group, the checks must send requests as a user who does not exist.
        if bound:
            by_role[Role(role.value)] = min(bound, key=lambda actor: (bool(actor.groups), _is_account(actor)))
    return by_role


def _is_account(actor: Actor) -> bool:
    return actor.user.startswith(_ACCOUNT_PREFIX)


def _subjects(desired: DesiredState, role: AccessRole, namespace: str) -> list[dict[str, str]]:
    for key, manifest in desired.by_key.items():
        if key == (ROLE_BINDING.key, namespace, role_name(role)):
            subjects: list[dict[str, str]] = manifest["subjects"]
            return subjects
    return []


def _actor(subject: Mapping[str, str], namespace: str) -> Actor:
    match subject["kind"]:
        case SubjectKind.GROUP:
            return Actor(PROBE, (subject["name"],), namespace)
        case SubjectKind.SERVICE_ACCOUNT:
            return Actor(f"{_ACCOUNT_PREFIX}{subject['namespace']}:{subject['name']}", (), namespace)
    return Actor(subject["name"], (), namespace)
