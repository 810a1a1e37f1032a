"""Reads the data about a tenant and its cluster that the checks of `tenancy prove` need."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from typing import Final

from cli.connection import Connection
from cluster.errors import ClusterError
from cluster.live_objects import tenant_of
from tenancy.admission.policy_builder import SYSTEM_CLASSES
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import (
    DISRUPTION_BUDGET,
    JOB,
    NAMESPACE,
    POD,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    Kind,
    kind_of,
)
from tenancy.base.labels import MANAGED_SELECTOR
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.names import SESSION_JOB_PREFIX
from tenancy.base.platform_names import SYSTEM_NAMESPACE
from tenancy.desired import desired_state
from tenancy.isolation.check import Actor, Protection
from tenancy.isolation.comparison import object_problems, policy_problems, shipped_policies
from tenancy.isolation.requests import PRIORITY_CLASS, RUNTIME_CLASS
from tenancy.isolation.target import Target
from tenancy.plans import Plans
from tenancy.spec.effective_settings import effective_settings
from tenancy.spec.tenant import tenant_from_manifest

_ENDED: Final = ("Succeeded", "Failed")


class TenantNotReady(TenancyError):
    """A namespace of the tenant does not exist yet, so the tenant's isolation cannot be checked."""

    reason = "TenantNotReady"


class ClusterFacts:
    """Reads the data that the checks need. Data that several tenants share is read only once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.live_names: Callable[[str], dict[Kind, str]] = cache(self._live_names)
        self.accounts: Callable[[str], frozenset[str]] = cache(self._accounts)

    @cached_property
    def plans(self) -> Plans:
        return self._connection.plans()

    @cached_property
    def policy_problems(self) -> dict[Protection, str]:
        """The admission policies that are missing or changed, each with a text about the problem."""
        live = [
            manifest
            for shipped in shipped_policies()
            if (manifest := self._connection.cluster.get(kind_of(shipped), shipped["metadata"]["name"]))
        ]
        return policy_problems(live)

    @cached_property
    def classes(self) -> dict[Kind, list[str]]:
        return {
            kind: [
                name
                for each in self._list(kind)
                if (name := each["metadata"]["name"]) not in SYSTEM_CLASSES and not each.get("globalDefault")
            ]
            for kind in (PRIORITY_CLASS, RUNTIME_CLASS)
        }

    def foreign_namespace(self, tenant: str, actor: Actor) -> str:
        """A namespace of another tenant in which the user `actor` has no role.

        If there is no such namespace, the result is the platform's namespace.
        """
        names = {actor.user, *actor.groups}
        for binding in self._bindings:
            namespace = binding["metadata"]["namespace"]
            if tenant_of(binding) != tenant and not names & self._bound_names[namespace]:
                return str(namespace)
        return SYSTEM_NAMESPACE

    def target(self, manifest: Manifest) -> tuple[Target, dict[Protection, str]]:
        """The tenant with the data for its checks, and the protections that are missing or changed.

        A protection is an admission policy or an object that isolates the tenant, such as a NetworkPolicy.
        The second value maps each missing or changed protection to a text about the problem. Raises
        TenantNotReady if a namespace of the tenant does not exist.
        """
        tenant = tenant_from_manifest(manifest)
        desired = desired_state(tenant, self.plans, self._connection.served)
        live = self._connection.live_objects(tenant.name)
        for namespace in desired.namespaces:
            if ObjectKey(NAMESPACE.key, "", namespace) not in live:
                raise TenantNotReady(
                    f"tenant {tenant.name!r}: namespace {namespace} does not exist yet; wait until the "
                    "tenant is Active"
                )
        settings = effective_settings(self.plans.plan(tenant.spec.plan), tenant.spec)
        target = Target(manifest, tenant, settings, desired, desired.namespaces[0], classes=self.classes)
        return target, {**self.policy_problems, **object_problems(desired, live)}

    def seen_by(self, target: Target, actor: Actor) -> Target:
        """A copy of `target` with the data for the requests of the user `actor`, such as the namespace."""
        return replace(
            target,
            namespace=actor.namespace,
            live_names=self.live_names(actor.namespace),
            accounts=self.accounts(actor.namespace),
            foreign_namespace=self.foreign_namespace(target.name, actor),
        )

    @cached_property
    def _bindings(self) -> list[Manifest]:
        return self._list(ROLE_BINDING, MANAGED_SELECTOR)

    @cached_property
    def _bound_names(self) -> dict[str, set[str]]:
        names: dict[str, set[str]] = {}
        for binding in self._bindings:
            subjects = {subject["name"] for subject in binding.get("subjects") or ()}
            names.setdefault(binding["metadata"]["namespace"], set()).update(subjects)
        return names

    def _live_names(self, namespace: str) -> dict[Kind, str]:
        """The name of one Pod, one Job and one PodDisruptionBudget in the namespace.

        Ended pods and the objects of AI sessions are ignored. If a kind has no other objects, the result does
        not contain the kind.
        """
        names = {}
        for kind in (POD, JOB, DISRUPTION_BUDGET):
            for manifest in self._list(kind, namespace=namespace):
                name: str = manifest["metadata"]["name"]
                has_ended = (manifest.get("status") or {}).get("phase") in _ENDED
                if not name.startswith(SESSION_JOB_PREFIX) and not has_ended:
                    names[kind] = name
        return names

    def _accounts(self, namespace: str) -> frozenset[str]:
        """The names of the ServiceAccounts in the namespace."""
        return frozenset(
            manifest["metadata"]["name"] for manifest in self._list(SERVICE_ACCOUNT, namespace=namespace)
        )

    def _list(self, kind: Kind, selector: str = "", namespace: str = "") -> list[Manifest]:
        """The objects of a kind. Empty if the user cannot list them."""
        try:
            return self._connection.cluster.list(kind, selector, namespace=namespace)[0]
        except ClusterError as error:
            if not error.is_forbidden:
                raise
            return []
