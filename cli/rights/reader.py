"""Reads the objects that the user may read, and collects the rights that the user lacks.

For example, the documented role for the web page allows its users to read only Tenants. For such users, the
commands show only the values that come from Tenants, and name the missing rights.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text

from cli.connection import Connection, no_such_tenant
from cli.output import error_console
from cli.rights.permissions import MissingRight, Right, rights_text
from cli.selection.tenants import resources_named
from cluster.errors import ClusterError
from cluster.live_objects import tenant_of
from tenancy.base.kinds import CONFIG_MAP, CRD, MANAGED_KINDS, RESOURCE_QUOTA, TENANTS, Kind
from tenancy.base.labels import MANAGED_SELECTOR, tenant_selector
from tenancy.base.manifest import Manifest, ObjectKey, Objects, object_key
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.same_name_in_both_groups import is_duplicate, precedence

if TYPE_CHECKING:
    from tenancy.plans import Plans

_Value = TypeVar("_Value")

READ_PLANS = Right("get", CONFIG_MAP, SYSTEM_NAMESPACE, PLANS_CONFIG_MAP)
READ_CRDS = Right("get", CRD)


class Reader:
    """Reads the cluster. If a request is forbidden, adds the missing right to the list `missing`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.missing: list[Right] = []

    @property
    def unreadable(self) -> frozenset[str]:
        """The kinds that this reader could not list, because the user lacks the right.

        The values have the format of `ObjectKey.kind`, such as `RoleBinding`.
        """
        return frozenset(right.kind.key for right in self.missing if right.verb == "list")

    @cached_property
    def served(self) -> frozenset[Kind] | None:
        """The kinds of integrations, such as Istio, that the cluster serves.

        None if the user cannot read CRDs.
        """
        return self._read(READ_CRDS, lambda: self.connection.served)

    def plans(self, file: Path | None = None) -> "Plans | None":
        """The plans in the file. If no file is given, the plans that the watcher in the cluster uses.

        The watcher reads its plans from a ConfigMap. None if the user cannot read the ConfigMap.
        """
        return self._read(READ_PLANS, lambda: self.connection.plans(file))

    def required_plans(self, file: Path | None = None) -> "Plans":
        """Like `plans`, but raises MissingRight if the user cannot read the ConfigMap."""
        plans = self.plans(file)
        if plans is None:
            raise self.error([READ_PLANS])
        return plans

    def tenant(self, name: str) -> Manifest:
        """The live Tenant with this name. If both API groups have such a Tenant, the result is the older one.

        `name` can also be a full name, such as `tenants.platform.ai/research`. Raises NoSuchTenant if the
        Tenant does not exist, and MissingRight if the user cannot read the Tenant.
        """
        tenants = self.named(name)
        if not tenants and self.missing:
            raise self.error(self.missing)
        if not tenants:
            raise no_such_tenant(name)
        return tenants[0]

    def named(self, text: str) -> list[Manifest]:
        """The live Tenants with this name or full name, at most one per API group. The older one is first."""
        rights = [Right("get", kind, name=name) for kind, name in resources_named(text)]
        tenants = [tenant for right in rights if (tenant := self._read(right, self._get(right)))]
        return sorted(tenants, key=precedence)

    def tenants(self, selector: str = "") -> list[Manifest]:
        """The Tenants of both API groups that match the label selector."""
        return [tenant for kind in TENANTS for tenant in self._list(kind, selector)]

    def quotas(self) -> list[Manifest]:
        """The ResourceQuotas that the watcher manages for all tenants."""
        return self._list(RESOURCE_QUOTA, MANAGED_SELECTOR)

    def objects(self, tenant: Manifest) -> Objects:
        """The live objects that the watcher manages for this Tenant.

        Tenants exist in two API groups. If the other group has an older Tenant with the same name, the
        objects belong to the older Tenant, and the result is empty.
        """
        if is_duplicate(tenant, {}):
            return {}
        return dict(self._objects(tenant_selector(tenant["metadata"]["name"])))

    def objects_by_tenant(self) -> dict[str, dict[ObjectKey, Manifest]]:
        """All live objects that the watcher manages, by the name of the tenant.

        The method sends one list request per kind.
        """
        objects: dict[str, dict[ObjectKey, Manifest]] = {}
        for key, manifest in self._objects(MANAGED_SELECTOR):
            objects.setdefault(tenant_of(manifest), {})[key] = manifest
        return objects

    def drop_kinds_except(self, kinds: Container[str]) -> None:
        """Remove the rights to list a kind from `missing`, except for the kinds in `kinds`."""
        self.missing = [right for right in self.missing if right.verb != "list" or right.kind.key in kinds]

    def error(self, rights: Sequence[Right]) -> MissingRight:
        """The error for a command that does not work without these rights."""
        return MissingRight(self._missing_text(rights))

    def print_missing(self) -> None:
        """If rights are missing, print a note to standard error that names them."""
        if self.missing:
            error_console.print(Text(f"note: the output is incomplete: {self._missing_text(self.missing)}"))

    def _missing_text(self, rights: Sequence[Right]) -> str:
        # This import is slow, and it is needed only if rights are missing.
        from cli.rights.grants import grants_text

        grants = grants_text(self.connection.cluster, rights)
        return f"you cannot {rights_text(rights)}; {grants}"

    def _get(self, right: Right) -> Callable[[], Manifest | None]:
        return lambda: self.connection.cluster.get(right.kind, right.name, right.namespace)

    def _objects(self, selector: str) -> Iterable[tuple[ObjectKey, Manifest]]:
        for kind in (*MANAGED_KINDS, *(self.served or ())):
            for manifest in self._list(kind, selector):
                yield object_key(manifest), manifest

    def _list(self, kind: Kind, selector: str = "") -> list[Manifest]:
        cluster = self.connection.cluster
        return self._read(Right("list", kind), lambda: cluster.list(kind, selector)[0]) or []

    def _read(self, right: Right, read: Callable[[], _Value]) -> _Value | None:
        try:
            return read()
        except ClusterError as error:
            if not error.is_forbidden:
                raise
        if right not in self.missing:
            self.missing.append(right)
        return None
